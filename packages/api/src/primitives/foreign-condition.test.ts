import * as fc from "fast-check";
import { expect, test } from "vitest";
import { condition } from "../shapes/condition.ts";
import { adaptCondition, adaptMessage, adaptReason } from "./foreign-condition.ts";

const statusOf = (given: string) => adaptCondition({ type: "PodScheduled", status: given }, "F").status;

test.for([
  ["Unschedulable", "Unschedulable"],
  ["a_b,c:d", "a_b,c:d"],
  ["Ends_", "Ends_"],
  ["Unschedulable: 0/3 nodes", "Unschedulable:_0_3_nodes"],
  ["example.com/Waiting", "example_com_Waiting"],
  ["  Spaced out!", "Spaced_out"],
  ["Trailing:", "Trailing"],
  ["7days", "days"],
  ["", "Fallback"],
  ["0/3", "Fallback"],
  ["漢字", "Fallback"],
  [undefined, "Fallback"],
  ["R".repeat(5000), "R".repeat(1024)],
] as const)("adaptReason(%j)", ([reason, expected]) => {
  expect(adaptReason(reason, "Fallback")).toBe(expected);
});

test("cuts a long message without splitting a character", () => {
  expect(adaptMessage(undefined)).toBe("");
  expect(adaptMessage("fine")).toBe("fine");
  expect(adaptMessage("x".repeat(40_000))).toHaveLength(32_768);
  expect(adaptMessage(`${"x".repeat(32_767)}😀`).isWellFormed()).toBe(true);
});

test("every adapted condition of a Pod is valid in our schema", () => {
  const foreign = fc.record(
    {
      reason: fc.string({ unit: "binary", maxLength: 60 }),
      message: fc.string({ unit: "binary" }),
      status: fc.string(),
    },
    { requiredKeys: ["status"] },
  );
  fc.assert(
    fc.property(foreign, (reported) => {
      const adapted = adaptCondition({ type: "PodScheduled", ...reported }, "PodSchedulingUnknown");
      const parsed = condition.safeParse({ ...adapted, lastTransitionTime: "2026-01-01T00:00:00Z" });
      expect(parsed.error).toBeUndefined();
    }),
  );
});

test("an invalid status becomes Unknown", () => {
  expect(["True", "False", "Unknown", "true", ""].map(statusOf)).toEqual([
    "True",
    "False",
    "Unknown",
    "Unknown",
    "Unknown",
  ]);
});
