import { Command } from "commander";
import { expect, test } from "vitest";
import { execCommand } from "./exec-command.ts";

async function parsed(words: readonly string[]): Promise<unknown> {
  let seen: unknown;
  const program = new Command()
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  execCommand(program.command("exec"), async (sandbox, command, options) => {
    seen = { sandbox, command, ...options };
  });
  await program.parseAsync(["exec", ...words], { from: "user" });
  return seen;
}

test.for([
  ["my-sandbox -- ls -l", { sandbox: "my-sandbox", command: ["ls", "-l"] }],
  ["-it my-sandbox -- bash", { sandbox: "my-sandbox", command: ["bash"], stdin: true, tty: true }],
  ["my-sandbox -it -- bash", { sandbox: "my-sandbox", command: ["bash"], stdin: true, tty: true }],
  ["my-sandbox -c main -- id -u", { sandbox: "my-sandbox", command: ["id", "-u"], container: "main" }],
  ["my-sandbox hostname", { sandbox: "my-sandbox", command: ["hostname"] }],
  ["my-sandbox -- sh -c -- x", { sandbox: "my-sandbox", command: ["sh", "-c", "--", "x"] }],
] as const)("exec %s", async ([words, expected]) => {
  expect(await parsed(words.split(" "))).toEqual(expected);
});

test("an option that may be the command's own is not guessed at", async () => {
  await expect(parsed(["my-sandbox", "ls", "-l"])).rejects.toThrow("unknown option '-l'");
});
