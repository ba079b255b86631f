import { expect, test } from "vitest";
import { runtimeMessage } from "./runtime-message.ts";

test.for([
  [
    "a log line",
    'time="2026-01-01T00:00:00Z" level=error msg="exec failed: \\"x\\" not found"\n',
    'exec failed: "x" not found',
  ],
  ["the last of several", 'level=warning msg="first"\nlevel=error msg="last"', "last"],
  ["plain text", " container does not exist\n", "container does not exist"],
  ["an invalid escape", 'msg="a\\xb"', '"a\\xb"'],
] as const)("%s", ([, output, expected]) => {
  expect(runtimeMessage(output)).toBe(expected);
});
