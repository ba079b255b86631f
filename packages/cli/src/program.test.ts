import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram, frequentCommands } from "./program.ts";

const whole = createProgram();
const find = (program: Command, name: string): Command | undefined =>
  program.commands.find((command) => command.name() === name);

test.for(frequentCommands)("%s is the same command if it is declared without the others", (name) => {
  const quick = createProgram([name]);
  expect(quick.commands.length).toBeLessThan(5);
  const [alone, among] = [find(quick, name), find(whole, name)];
  expect(alone?.helpInformation()).toBe(among?.helpInformation());
  expect(alone?.options.map(({ flags }) => flags)).toEqual(among?.options.map(({ flags }) => flags));
});

test.for([
  [["--data-dir", "/x", "get", "pods"], "get"],
  [["--data-dir=/x", "-n", "run", "get"], "get"],
  [["-nrun", "get"], "get"],
  [["--context", "get", "exec", "work", "--", "run"], "exec"],
  [["-n", "run", "--", "get"], undefined],
  [["lss", "get"], undefined],
  [["help", "get"], undefined],
  [["--help"], undefined],
  [["-n", "get"], undefined],
  [["--version", "get"], "get"],
  [["toString"], undefined],
  [[], undefined],
] as const)("%j declares all commands unless %s is the command", ([words, name]) => {
  const { commands } = createProgram(words);
  expect(commands.length < whole.commands.length).toBe(name !== undefined);
  expect(commands.map((command) => command.name())).toContain(name ?? "status");
});

test.for([
  [["gte", "get"], "error: unknown command 'gte'\n(Did you mean \"agent-sandbox get\"?)"],
  [["get", "--bogus"], "error: unknown option '--bogus'"],
] as const)("%j is refused as before", async ([words, message]) => {
  let printed = "";
  const program = createProgram(words);
  for (const command of [program, ...program.commands])
    command.exitOverride().configureOutput({ writeErr: (text) => (printed += text) });
  await expect(program.parseAsync(words, { from: "user" })).rejects.toThrow(message.split("\n")[0]);
  expect(printed).toContain(message);
});
