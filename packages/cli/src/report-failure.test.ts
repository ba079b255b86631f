import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { KubeError } from "@agent-sandbox/kube";
import { NodeError } from "@agent-sandbox/node";
import { expect, test } from "vitest";
import { CommandError } from "./command-error.ts";
import { lineOf, reasonOf } from "./report-failure.ts";

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

test.for([
  ["our own", new CommandError("no box runs"), "error: no box runs"],
  ["the server's", new KubeError("NotFound", 'pods "a" not found'), 'Error from server: pods "a" not found'],
  ["the node's", new NodeError("NodeSetup", "Cannot use it"), "error: Cannot use it"],
  [
    "a file that is not there",
    thrownBy(() => readFileSync("/none")),
    'error: Cannot open "/none": no such file or directory',
  ],
  ["a mistake in the program", new TypeError("x is not a function"), undefined],
  ["what is no error", "text", undefined],
] as const)("%s is told in one line, or not foreseen", ([, error, expected]) => {
  expect(lineOf(error)).toBe(expected);
});

test("the error for a port in use names the port", async () => {
  const first = createServer();
  await new Promise<void>((resolve) => first.listen(0, "127.0.0.1", resolve));
  const { port } = first.address() as { port: number };
  const second = createServer();
  const error = await new Promise((resolve) => second.once("error", resolve).listen(port, "127.0.0.1"));
  first.close();
  expect(lineOf(error)).toBe(`error: ${reasonOf(error)}`);
  expect(lineOf(error)).toBe(`error: Cannot listen on "127.0.0.1:${port}": address already in use`);
});
