import { expect, test } from "vitest";
import { isMisdirectedCall } from "./misdirected.ts";

test("distinguishes a refusal by another sandbox's runtime from a failed call", () => {
  const calls: readonly [string, string | undefined, boolean][] = [
    ["9", "Cannot serve X-Sandbox-UID: this is another sandbox", true],
    ["9", 'Cannot serve X-Sandbox-ID "a": this sandbox is "b"', true],
    ["9", "Cannot write to process 7: its stdin is closed", false],
    ["5", "Cannot serve X-Sandbox-UID: this is another sandbox", false],
    ["9", undefined, false],
    ["0", "", false],
  ];
  for (const [code, message, expected] of calls) {
    expect(
      isMisdirectedCall({ "grpc-status": code, ...(message === undefined ? {} : { "grpc-message": message }) }),
    ).toBe(expected);
  }
});
