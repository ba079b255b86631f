import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../program.ts";
import { sameHere, suggestionFor } from "./suggestions.ts";

const names = createProgram().commands.map((command) => command.name());

test.for([
  ["gte", "get"],
  ["delet", "delete"],
  ["shel", "shell"],
  ["resmue", "resume"],
  ["descrbe", "describe"],
  ["port-foward", "port-forward"],
  ["comletion", "completion"],
  ["xp", undefined],
  ["c", undefined],
  ["a", undefined],
  ["do", undefined],
  ["constructor", undefined],
  ["toString", undefined],
  ["", undefined],
  ["x".repeat(10_000), undefined],
] as const)("%s suggests %s", ([word, expected]) => {
  expect(suggestionFor(word, names, {})).toBe(expected);
});

test("short commands are not suggested for each other", () => {
  const others = (word: string): readonly string[] => names.filter((name) => name !== word);
  for (const word of ["cp", "up", "run", "get"])
    expect([word, suggestionFor(word, others(word), {})]).toEqual([word, undefined]);
});

test.for([
  ["ls", "agent-sandbox get sandboxes"],
  ["ssh", "agent-sandbox shell SANDBOX"],
  ["rm", "agent-sandbox delete sandbox/NAME"],
  ["deletee", "agent-sandbox delete"],
  ["image lss", "agent-sandbox image ls"],
] as const)("agent-sandbox %s asks about %s", async ([words, expected]) => {
  let printed = "";
  const program = createProgram();
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({ writeErr: (text) => (printed += text) });
  }
  await expect(program.parseAsync(words.split(" "), { from: "user" })).rejects.toThrow("unknown command");
  expect(printed).toContain(`(Did you mean "${expected}"?)`);
});

test.for(["exec work ls -la", "run python3 -V", "claim pool ls -la"])("%s says where options go", async (words) => {
  let printed = "";
  const program = createProgram();
  for (const command of program.commands) {
    command.exitOverride().configureOutput({ writeErr: (text) => (printed += text) });
  }
  await expect(program.parseAsync(words.split(" "), { from: "user" })).rejects.toThrow("unknown option");
  expect(printed).toContain("Options of the command to run go after --.");
});

test("every suggested command exists, and no command has a suggestion of its own", () => {
  for (const [word, suggestion] of Object.entries(sameHere)) {
    const [first = "", second = ""] = suggestion.split(" ");
    const command = createProgram().commands.find((one) => one.name() === first);
    const isThere = first === "--version" || (command !== undefined && hasChild(command, second));
    expect([word, isThere, names.includes(word)]).toEqual([word, true, false]);
  }
});

function hasChild({ commands }: Command, name: string): boolean {
  return name === "" || commands.length === 0 || commands.some((one) => one.name() === name);
}
