import { expect, test } from "vitest";
import { exitCodeOf } from "./exec-channel.ts";

test.for([
  ["success", { status: "Success" }, 0],
  [
    "a command's own exit code",
    { status: "Failure", reason: "NonZeroExitCode", details: { causes: [{ reason: "ExitCode", message: "42" }] } },
    42,
  ],
] as const)("%s", ([, answer, code]) => {
  expect(exitCodeOf(answer)).toBe(code);
});

test.for([
  ["the reason", { status: "Failure", reason: "InternalError", message: "no such program" }, "no such program"],
  ["an exit code that is no number", { status: "Failure", reason: "NonZeroExitCode", message: "odd" }, "odd"],
  ["nothing at all", {}, "The command could not run"],
] as const)("a command that did not run throws with %s", ([, answer, message]) => {
  expect(() => exitCodeOf(answer)).toThrow(message);
});

test.for([
  ['exec: "x": executable file not found in $PATH', 127],
  ['error finding executable "x" in PATH [/bin]: no such file or directory', 127],
  ['exec: "/etc/passwd": permission denied', 126],
  ["exec format error", 126],
  ["the runtime failed", 1],
] as const)("a command that did not start because of %s exits with %i", ([message, exitCode]) => {
  expect(() => exitCodeOf({ status: "Failure", reason: "InternalError", message })).toThrow(
    expect.objectContaining({ exitCode }),
  );
});
