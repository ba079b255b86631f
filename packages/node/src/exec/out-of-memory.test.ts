import { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { expect, test } from "vitest";
import type { AttachedProcess } from "./exec-process.ts";
import { explainOutOfMemory } from "./out-of-memory.ts";

const lost = 'waiting on pid 3: urpc method "containerManager.WaitPID" failed: EOF\n';

function attached(chunks: readonly string[], code: number): AttachedProcess {
  const exit = Promise.resolve({ code });
  const stderr = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  const streams = { stdin: new Writable(), stdout: Readable.from([]), stderr };
  return { ...streams, pid: 1, exit, ended: exit, resize: () => undefined, kill: () => stderr.destroy() };
}

const outcome = async (chunks: readonly string[], code: number, isOutOfMemory: boolean): Promise<unknown[]> => {
  const hasRunOutOfMemory = () => Promise.resolve(isOutOfMemory);
  const { stderr, exit } = explainOutOfMemory(attached(chunks, code), { tty: false, hasRunOutOfMemory });
  return [await text(stderr), (await exit).code];
};

test.for<[string, string[], number, boolean, [string, number]]>([
  [
    "replaces the error of runsc",
    ["some output\n", lost],
    128,
    true,
    ["some output\nThe sandbox ran out of memory and was killed\n", 137],
  ],
  [
    "replaces an error in the same chunk as other output",
    [`output\n${lost}`],
    128,
    true,
    ["output\nThe sandbox ran out of memory and was killed\n", 137],
  ],
  ["keeps the error if the sandbox did not run out of memory", [lost], 128, false, [lost, 128]],
  ["keeps such a line of a command that exits by itself", [lost], 1, true, [lost, 1]],
  ["keeps such a line before other output", [lost, "more\n"], 128, true, [`${lost}more\n`, 137]],
  ["keeps the output and the exit code of other commands", ["a", "b\n", "c"], 3, false, ["ab\nc", 3]],
])("%s", async ([, chunks, code, isOutOfMemory, expected]) => {
  expect(await outcome(chunks, code, isOutOfMemory)).toEqual(expected);
});

test("ends when it is killed, although nobody read the output", async () => {
  const process = attached(["output"], 0);
  const session = explainOutOfMemory(process, { tty: false, hasRunOutOfMemory: () => Promise.resolve(false) });
  await finished(process.stderr);
  session.kill();
  expect(await session.exit).toEqual({ code: 0 });
});
