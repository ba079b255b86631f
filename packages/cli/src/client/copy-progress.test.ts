import { expect, test } from "vitest";
import { describeCount, progressOutput } from "./copy-progress.ts";

const stderr = { isTTY: true, write: () => true };

test.for([
  ["a file is sent", "data", "work:/tmp/", { stdinIsTerminal: true, stdoutIsFile: false }, true],
  ["a folder is received", "work:/tmp", ".", { stdinIsTerminal: true, stdoutIsFile: false }, true],
  ["a file is printed on a terminal or to a pipe", "work:/log", "-", { stdoutIsFile: false }, false],
  ["a file is printed to a file", "work:/log", "-", { stdoutIsFile: true }, true],
  ["a pipe is sent", "-", "work:/log", { stdinIsTerminal: false }, true],
  ["a user types", "-", "work:/log", { stdinIsTerminal: true }, false],
] as const)("while %s, from %s to %s with %j, progress is shown: %s", ([, from, to, streams, isShown]) => {
  const all = { stdinIsTerminal: false, stdoutIsFile: false, stderr, ...streams };
  expect(progressOutput(from, to, all).isTTY === true).toBe(isShown);
});

test.for([
  [0, 0, false, "0 files, 0B"],
  [1, 12, false, "1 file, 12B"],
  [0, 12, true, "12B"],
] as const)("%d files with %d bytes, as a stream %s, are shown as %s", ([files, bytes, isStream, expected]) => {
  expect(describeCount({ files, bytes }, isStream)).toBe(expected);
});
