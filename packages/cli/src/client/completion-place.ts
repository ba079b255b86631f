import type { Command, Option } from "commander";
import type { GlobalOptions } from "./connect.ts";

/** The end of a command line: what is completed there. */
export interface CompletionPlace {
  /** The name of the command, as in `snapshot create`; empty for the program. */
  readonly path: string;
  readonly command: Command;
  /** The option whose value is completed. */
  readonly option: Option | undefined;
  /** The arguments before the word. */
  readonly before: readonly string[];
  /** What is written of the word. */
  readonly word: string;
  /** After `--` come the words of another program. */
  readonly isForeign: boolean;
  /** The server to ask for names. */
  readonly connection: GlobalOptions;
}

const connectionFlags: Readonly<Record<string, keyof GlobalOptions>> = {
  "--data-dir": "dataDir",
  "--kubeconfig": "kubeconfig",
  "--context": "context",
  "--namespace": "namespace",
};

/** Reads a command line up to its last word, which may be empty. Unknown words are arguments. */
export function completionPlace(program: Command, words: readonly string[]): CompletionPlace {
  const path: string[] = [];
  const before: string[] = [];
  const connection: Partial<Record<keyof GlobalOptions, string>> = {};
  const dashes = words.indexOf("--");
  const isForeign = dashes >= 0 && dashes < words.length - 1;
  let command = program;
  let option: Option | undefined;
  for (const word of isForeign ? words.slice(0, dashes) : words.slice(0, -1)) {
    if (option !== undefined) {
      const field = connectionFlags[option.long ?? ""];
      if (field !== undefined) connection[field] = word;
      option = undefined;
    } else if (word.startsWith("-")) {
      option = optionNamed(command, word, program);
    } else {
      const child = before.length > 0 ? undefined : command.commands.find((one) => one.name() === word);
      if (child === undefined) before.push(word);
      else {
        command = child;
        path.push(word);
      }
    }
  }
  return { path: path.join(" "), command, option, before, word: words.at(-1) ?? "", isForeign, connection };
}

/** The option that takes the next word as its value. */
function optionNamed(command: Command, word: string, program: Command): Option | undefined {
  const found = optionsOf(command, program).find(({ long, short }) => word === long || word === short);
  return found?.required === true || found?.optional === true ? found : undefined;
}

/** The options of a command, of those above it and of the program. */
export function optionsOf(command: Command, program: Command): readonly Option[] {
  const chain: Command[] = [];
  for (let one: Command | null = command; one !== null; one = one.parent) chain.push(one);
  const all = [...chain, program].flatMap(({ options }) => options);
  return all.filter((option, index) => all.findIndex(({ long }) => long === option.long) === index);
}
