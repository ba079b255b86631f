import { expect, test } from "vitest";
import { managerName } from "./manager-name.ts";

test.for([
  ["the name given", "me", "kubectl/v1.30", "me"],
  ["what comes first in the user agent", undefined, "kubectl/v1.30 (linux)", "kubectl"],
  ["also when the name given is empty", "", "curl/8", "curl"],
  ["nothing without either", undefined, undefined, ""],
  ["no character that cannot be seen", undefined, "a\u0000b\nc\u200bd/1", "abcd"],
  ["at most 128 bytes", undefined, "é".repeat(100), "é".repeat(64)],
] as const)("%s", ([, fieldManager, userAgent, expected]) => {
  expect(managerName(fieldManager, userAgent)).toBe(expected);
});
