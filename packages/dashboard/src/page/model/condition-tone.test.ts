import { expect, test } from "vitest";
import { toneOfCondition } from "./condition-tone.ts";

test.for([
  ["Ready", "True", "good"],
  ["Ready", "False", "neutral"],
  ["Ready", "Unknown", "neutral"],
  ["Suspended", "True", "neutral"],
  ["Suspended", "False", "neutral"],
  ["Finished", "True", "neutral"],
  ["PodOutdated", "True", "busy"],
  ["PodOutdated", "False", "neutral"],
  ["Failed", "True", "bad"],
  ["Failed", "False", "neutral"],
  ["constructor", "True", "good"],
] as const)("%s %s is %s", ([type, status, tone]) => {
  expect(toneOfCondition({ type, status })).toBe(tone);
});
