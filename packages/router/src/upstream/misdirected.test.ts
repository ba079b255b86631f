import { expect, test } from "vitest";
import { isMisdirectedCall } from "./misdirected.ts";

test("tells the runtime of another sandbox from a call that failed in its own", () => {
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
