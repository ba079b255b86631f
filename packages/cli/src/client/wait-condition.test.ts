import { expect, test } from "vitest";
import { meets, parseDuration, parseWaitedCondition, standing } from "./wait-condition.ts";

test.for([
  ["condition=Ready", { type: "Ready", status: "True" }],
  ["condition=Ready=False", { type: "Ready", status: "False" }],
  ["delete", "delete"],
] as const)("reads %s", ([text, expected]) => {
  expect(parseWaitedCondition(text)).toEqual(expected);
});

test.for(["", "Ready", "deleted", "condition=", "condition=Ready=", "condition=A=B=C"])("refuses %j", (text) => {
  expect(() => parseWaitedCondition(text)).toThrow(`Cannot wait for "${text}"`);
});

test.for([
  ["30s", 30_000],
  ["5m", 300_000],
  ["1h30m", 5_400_000],
  ["250ms", 250],
  ["0s", 0],
] as const)("%s is %d ms", ([text, expected]) => {
  expect(parseDuration(text)).toBe(expected);
});

test.for(["", "30", "s", "-1s", "1d", "30s ", "25h", "999999999999s"])("refuses the duration %j", (text) => {
  expect(() => parseDuration(text)).toThrow(`Cannot read duration "${text}"`);
});

const ready = { type: "Ready", status: "True" };
test.for([
  ["met", { status: { conditions: [{ type: "Ready", status: "True" }] } }, true],
  ["another status", { status: { conditions: [{ type: "Ready", status: "False" }] } }, false],
  ["no status yet", {}, false],
  [
    "about an older generation",
    { metadata: { generation: 2 }, status: { conditions: [{ ...ready, observedGeneration: 1 }] } },
    false,
  ],
  [
    "about this generation",
    { metadata: { generation: 2 }, status: { conditions: [{ ...ready, observedGeneration: 2 }] } },
    true,
  ],
] as const)("a condition is %s", ([, object, expected]) => {
  expect(meets(object, ready)).toBe(expected);
});

const waiting = { type: "Ready", status: "False", reason: "PodNotReady", message: "ErrImagePull" };
test.for([
  ["why it is not met", { status: { conditions: [waiting] } }, "Ready is False (PodNotReady: ErrImagePull)"],
  ["a condition that gives no reason", { status: { conditions: [ready] } }, "Ready is True"],
  ["that there is none", {}, "it has no condition Ready"],
] as const)("tells %s", ([, object, expected]) => {
  expect(standing(object, ready)).toBe(expected);
});
