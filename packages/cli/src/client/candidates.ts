import type { Command } from "commander";
import { type Candidate, type Names, namesOf } from "./completion-names.ts";
import { completionPlace, optionsOf } from "./completion-place.ts";

/** What the arguments of each command name. The last one holds for all further arguments. */
const argumentNames: Readonly<Record<string, readonly Names[]>> = {
  claim: ["sources"],
  completion: [["bash", "zsh", "fish"]],
  cp: ["copies"],
  delete: ["objects"],
  describe: ["sandboxes"],
  events: ["sandboxes", []],
  exec: ["sandboxes", []],
  fork: ["sandboxes", []],
  get: ["types", "objectsOfType"],
  "image rm": ["images"],
  logs: ["sandboxes", []],
  open: ["sandboxes", []],
  "pool scale": ["pools", []],
  "pool status": ["pools", []],
  "port-forward": ["sandboxes", []],
  restart: ["sandboxes"],
  resume: ["sandboxes"],
  shell: ["sandboxes", []],
  "snapshot create": ["sandboxes", []],
  "snapshot delete": ["snapshots"],
  "snapshot export": ["snapshots", []],
  "snapshot ls": ["sandboxes", []],
  "snapshot restore": ["sandboxes", "snapshots", []],
  suspend: ["sandboxes"],
  top: ["sandboxes"],
  wait: ["objects"],
};

/** The values of options. Others are files, or anything. */
const optionNames: Readonly<Record<string, Names>> = {
  "--allow-runtime": "runtimes",
  "--default-runtime": "runtimes",
  "--depth": ["Volumes", "Filesystem", "Memory"],
  "--for": ["condition=Ready", "condition=Suspended", "delete"],
  "--image": "images",
  "--namespace": "namespaces",
  "--output": ["json", "yaml", "name", "wide"],
  "--runtime": "runtimes",
  "--snapshot": "snapshots",
  "--sort-by": ["cpu", "memory", "name"],
};

/** What may stand at the end of a command line. Empty: files, or anything. */
export async function candidatesFor(program: Command, words: readonly string[]): Promise<readonly Candidate[]> {
  const place = completionPlace(program, words);
  const { path, command, option, before, word, isForeign } = place;
  const candidates = async (names: Names): Promise<readonly Candidate[]> =>
    (await namesOf(names, place)).filter(({ text }) => text.startsWith(word));
  if (isForeign) return [];
  if (option !== undefined) return candidates(optionNames[option.long ?? ""] ?? []);
  if (word.startsWith("-")) {
    const flags = optionsOf(command, program).flatMap(({ long, short, description }) =>
      [long, short].filter((flag) => flag !== undefined).map((text) => ({ text, description })),
    );
    return flags.filter(({ text }) => text.startsWith(word));
  }
  const children = before.length > 0 ? [] : program.createHelp().visibleCommands(command);
  const own = argumentNames[path] ?? [];
  return [
    ...children
      .filter((child) => child.name() !== "help" && child.name().startsWith(word))
      .map((child) => ({ text: child.name(), description: child.description() })),
    ...(await candidates(own[before.length] ?? own.at(-1) ?? [])),
  ];
}
