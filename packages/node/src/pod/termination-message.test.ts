import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { terminationMessage } from "./termination-message.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "message-"));
  const line = (index: number): string => `2026-01-01T00:00:00.000000000+00:00 stdout F line ${index}\n`;
  await writeFile(join(folder, "log"), Array.from({ length: 2000 }, (_, index) => line(index)).join(""));
  await writeFile(join(folder, "words"), "x".repeat(5000));
  await writeFile(join(folder, "nothing"), "");
});
afterAll(() => rm(folder, { recursive: true }));

const of = (message: string, terminationMessagePolicy: string, exitCode: number): Promise<string | undefined> =>
  terminationMessage(
    { name: "main", terminationMessagePolicy },
    { message: join(folder, message), log: join(folder, "log") },
    exitCode,
  );

test("the message file, up to 4096 bytes", async () => {
  expect(await of("words", "FallbackToLogsOnError", 1)).toBe("x".repeat(4096));
});

test("the end of the log, up to 80 lines and 2048 bytes, when a container failed without a message", async () => {
  const message = await of("nothing", "FallbackToLogsOnError", 1);
  expect(message?.split("\n").slice(-3)).toEqual(["line 1998", "line 1999", ""]);
  expect(message?.split("\n")).toHaveLength(81);
});

test.for([
  ["no message with the policy File", "nothing", "File", 1],
  ["no log after exit code 0", "nothing", "FallbackToLogsOnError", 0],
  ["no message when the file is missing", "missing", "File", 1],
] as const)("nothing %s", async ([, message, policy, exitCode]) => {
  expect(await of(message, policy, exitCode)).toBeUndefined();
});
