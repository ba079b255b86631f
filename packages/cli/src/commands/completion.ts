import type { Command, Option } from "commander";
import { CommandError } from "../command-error.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** Commands whose arguments are names of sandboxes. */
const namesSandboxes = new Set([
  "exec",
  "shell",
  "open",
  "logs",
  "port-forward",
  "suspend",
  "resume",
  "describe",
  "events",
  "restart",
  "fork",
]);

/** Prints a script that completes commands, options and names of sandboxes. */
export function completion(shell: string, program: Command): void {
  if (shell === "bash") console.log(bashScript(program));
  else if (shell === "zsh") console.log(`autoload -U +X bashcompinit && bashcompinit\n${bashScript(program)}`);
  else if (shell === "fish") console.log(fishScript(program));
  else throw new CommandError(`Cannot complete for "${shell}": write ${shells.join(", ")}`);
}

const flagsOf = ({ options }: Command): string[] =>
  options.flatMap(({ long, short }: Option) => [long, short].filter((flag): flag is string => Boolean(flag)));

/** Every command with its parents, as in `snapshot create`. */
function pathsOf(command: Command, above: readonly string[] = []): { path: string; command: Command }[] {
  return command.commands.flatMap((child) => {
    const path = [...above, child.name()];
    return [{ path: path.join(" "), command: child }, ...pathsOf(child, path)];
  });
}

const listNames = "agent-sandbox get sandboxes -o name 2>/dev/null | sed 's|.*/||'";

export function bashScript(program: Command): string {
  const cases = pathsOf(program).map(({ path, command }) => {
    const words = [...command.commands.map((child) => child.name()), ...flagsOf(command)].join(" ");
    const names = namesSandboxes.has(path) ? ` $(${listNames})` : "";
    return `    "${path}") words="${words}${names}" ;;`;
  });
  const first = [...program.commands.map((command) => command.name()), ...flagsOf(program)].join(" ");
  return `_agent_sandbox() {
  local words path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
${pathsOf(program)
  .map(({ path }) => `      "${path.includes(" ") ? "" : " "}${path}") path="${path}" ;;`)
  .join("\n")}
    esac
  done
  case "$path" in
${cases.join("\n")}
    *) words="${first}" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _agent_sandbox agent-sandbox`;
}

function fishScript(program: Command): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`\'`)}'`;
  const top = program.commands.map((command) => command.name()).join(" ");
  const lines = [
    "complete -c agent-sandbox -f",
    ...program.commands.map(
      (command) =>
        `complete -c agent-sandbox -n "not __fish_seen_subcommand_from ${top}" -a ${command.name()} -d ${quoted(command.description())}`,
    ),
  ];
  for (const command of program.commands) {
    const seen = `-n "__fish_seen_subcommand_from ${command.name()}"`;
    for (const child of command.commands) {
      lines.push(`complete -c agent-sandbox ${seen} -a ${child.name()} -d ${quoted(child.description())}`);
    }
    for (const { long, short, description } of command.options) {
      const flags = [long && `-l ${long.slice(2)}`, short && `-s ${short.slice(1)}`].filter(Boolean).join(" ");
      lines.push(`complete -c agent-sandbox ${seen} ${flags} -d ${quoted(description)}`);
    }
    if (namesSandboxes.has(command.name())) lines.push(`complete -c agent-sandbox ${seen} -a "(${listNames})"`);
  }
  return lines.join("\n");
}
