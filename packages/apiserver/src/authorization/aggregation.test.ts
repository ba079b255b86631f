import { describe, expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { aggregatedRules } from "./aggregation.ts";

const role = (name: string, labels: Record<string, string>, ...resources: string[]): ApiObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name, labels },
  rules: resources.map((resource) => ({ verbs: ["get"], apiGroups: [""], resources: [resource] })),
});
const gathering = (...clusterRoleSelectors: object[]): ApiObject => ({
  ...role("all", { a: "1" }, "old"),
  aggregationRule: { clusterRoleSelectors },
});
const others = [role("c", { a: "1" }, "x", "y"), role("b", { a: "2", b: "1" }, "y"), role("d", {}, "z")];

describe("aggregatedRules()", () => {
  test.for([
    ["nothing without selectors", [], ""],
    ["by label", [{ matchLabels: { a: "1" } }], "x y"],
    [
      "by either selector, in order of names, each rule once",
      [{ matchLabels: { a: "1" } }, { matchLabels: { a: "2" } }],
      "y x",
    ],
    ["by all labels of a selector", [{ matchLabels: { a: "2", b: "2" } }], ""],
    ["by a set", [{ matchExpressions: [{ key: "a", operator: "In", values: ["2", "3"] }] }], "y"],
    [
      "by a value that is not in a set",
      [{ matchExpressions: [{ key: "a", operator: "NotIn", values: ["1"] }] }],
      "y z",
    ],
    ["by a label that exists", [{ matchExpressions: [{ key: "b", operator: "Exists" }] }], "y"],
    ["by a label that does not exist", [{ matchExpressions: [{ key: "a", operator: "DoesNotExist" }] }], "z"],
    ["nothing by an unknown operator", [{ matchExpressions: [{ key: "a", operator: "Like" }] }], ""],
    ["everything by an empty selector", [{}], "y x z"],
    ["nothing by a label named like an inherited property", [{ matchLabels: { toString: "1" } }], ""],
  ] as const)("selects %s", ([, selectors, expected]) => {
    const rules = aggregatedRules(gathering(...selectors), [gathering(), ...others]);
    expect(rules.flatMap(({ resources = [] }) => resources).join(" ")).toBe(expected);
  });
});
