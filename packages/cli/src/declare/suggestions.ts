import type { Command } from "commander";

/** Commands of docker, kubectl and similar tools, and what does the same here. */
export const sameHere: Readonly<Record<string, string>> = {
  attach: "shell SANDBOX",
  bash: "shell SANDBOX",
  build: "image load FILE",
  clone: "fork SANDBOX NAME",
  commit: "snapshot create SANDBOX",
  connect: "shell SANDBOX",
  copy: "cp FILE SANDBOX:PATH",
  destroy: "delete sandbox/NAME",
  enter: "shell SANDBOX",
  forward: "port-forward SANDBOX PORT",
  images: "image ls",
  inspect: "describe SANDBOX",
  kill: "delete sandbox/NAME",
  list: "get sandboxes",
  load: "image load FILE",
  login: "token",
  ls: "get sandboxes",
  new: "create NAME",
  pause: "suspend SANDBOX",
  ps: "get sandboxes",
  pull: "image pull IMAGE",
  remove: "delete sandbox/NAME",
  rm: "delete sandbox/NAME",
  rmi: "image rm IMAGE",
  sandbox: "get sandboxes",
  sandboxes: "get sandboxes",
  scale: "pool scale POOL NUMBER",
  sh: "shell SANDBOX",
  sleep: "suspend SANDBOX",
  ssh: "shell SANDBOX",
  start: "resume SANDBOX",
  stats: "top",
  stop: "suspend SANDBOX",
  unpause: "resume SANDBOX",
  version: "--version",
  wake: "resume SANDBOX",
};

/** Replaces commander's suggestions, which count two short words as similar because they share a letter, as `cp` and `up`. */
export function declareSuggestions(program: Command): void {
  for (const command of [program, ...program.commands.filter(({ commands }) => commands.length > 0)]) {
    command.showSuggestionAfterError(false).on("command:*", ([word = ""]: readonly string[]) => {
      const names = command.commands.map((one) => one.name()).filter((name) => !name.startsWith("__"));
      const hint = suggestionFor(word, names, command === program ? sameHere : {});
      const path = command === program ? "agent-sandbox" : `agent-sandbox ${command.name()}`;
      const advice = hint === undefined ? "" : `\n(Did you mean "${path} ${hint}"?)`;
      command.error(`error: unknown command '${word}'${advice}`, { code: "commander.unknownCommand" });
    });
  }
}

/** The command that was probably meant: one that does the same as a command of another tool, or one spelled nearly alike. */
export function suggestionFor(
  word: string,
  names: readonly string[],
  synonyms: Readonly<Record<string, string>>,
): string | undefined {
  if (Object.hasOwn(synonyms, word)) return synonyms[word];
  const [nearest] = names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    // One typing error for each three letters that were typed.
    .filter(({ distance }) => distance <= word.length / 3)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.name;
}

/** The least number of letters to insert, delete, replace or swap with their neighbour. */
function editDistance(from: string, to: string): number {
  // A word this long is no typing error; the table below would be large.
  if (Math.abs(from.length - to.length) > 5) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= from.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const distances = [
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        ...(row > 1 && column > 1 && isSwapped ? [at(row - 2, column - 2) + 1] : []),
      ];
      rows[row]?.push(Math.min(...distances));
    }
  }
  return at(from.length, to.length);
}
