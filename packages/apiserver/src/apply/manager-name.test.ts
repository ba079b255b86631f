import { expect, test } from "vitest";
import { managerName } from "./manager-name.ts";

test.for([
  ["the field manager", "me", "kubectl/v1.30", "me"],
  ["the first part of the user agent", undefined, "kubectl/v1.30 (linux)", "kubectl"],
  ["the user agent if the field manager is empty", "", "curl/8", "curl"],
  ["an empty name without either", undefined, undefined, ""],
  ["without unprintable characters", undefined, "a\u0000b\nc\u200bd/1", "abcd"],
  ["at most 128 bytes", undefined, "é".repeat(100), "é".repeat(64)],
] as const)("%s", ([, fieldManager, userAgent, expected]) => {
  expect(managerName(fieldManager, userAgent)).toBe(expected);
});
