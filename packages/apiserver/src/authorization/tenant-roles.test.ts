import { expect, test } from "vitest";
import { bootstrapRoles } from "./bootstrap-roles.ts";

const reading = ["get", "list", "watch"];
/** Resources that affect isolation and belong to the operator, for example a Namespace, which sets the allowed runtimes. */
const operators = ["namespaces", "namespaces/status", "namespaces/finalize", "runtimeclasses", "nodes", "*"];

test.for(["view", "edit", "admin"])("the role %s of a namespace cannot write resources of the operator", (role) => {
  const levels = ["view", "edit", "admin"];
  const included = levels.slice(0, levels.indexOf(role) + 1).map((level) => `system:aggregate-to-${level}`);
  const rules = bootstrapRoles.filter(({ name }) => included.includes(name)).flatMap((one) => one.rules);
  expect(rules.length).toBeGreaterThan(5);
  const writing = rules.filter(({ verbs }) => verbs.some((verb) => !reading.includes(verb)));
  expect(writing.flatMap(({ resources = [] }) => resources).filter((one) => operators.includes(one))).toEqual([]);
});
