import { expect, test } from "vitest";
import { labelSelectorProblems } from "./label-selector.ts";

test.for<[object, string[]]>([
  [{}, []],
  [{ matchLabels: { app: "x" } }, []],
  [{ matchLabels: { "a b": "c d" } }, ["s.matchLabels", "s.matchLabels"]],
  [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }, []],
  [{ matchExpressions: [{ key: "a", operator: "NotIn" }] }, ["s.matchExpressions[0].values"]],
  [{ matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] }, ["s.matchExpressions[0].values"]],
  [{ matchExpressions: [{ key: "a", operator: "Near" }] }, ["s.matchExpressions[0].operator"]],
  [{ matchExpressions: [{ key: "a b", operator: "DoesNotExist" }] }, ["s.matchExpressions[0].key"]],
  [{ matchExpressions: [{ key: "a", operator: "In", values: ["b c"] }] }, ["s.matchExpressions[0].values[0]"]],
])("the selector %j is refused for %j", ([selector, expected]) => {
  expect(labelSelectorProblems(selector, "s").map(({ field }) => field)).toEqual(expected);
});
