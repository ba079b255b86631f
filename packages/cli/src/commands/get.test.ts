import { expect, test } from "vitest";
import { wantedBy, withoutManagers } from "./get.ts";

test.for([
  [["pods"], { types: ["pods"], names: [] }],
  [["pods", "a", "b"], { types: ["pods"], names: ["a", "b"] }],
  [["pod/a", "b"], { types: ["pod"], names: ["a", "b"] }],
  [["sandboxes,pods"], { types: ["sandboxes", "pods"], names: [] }],
] as const)("reads %j", ([[type, ...names], expected]) => {
  expect(wantedBy(type, names)).toEqual(expected);
});

test("refuses names together with several types", () => {
  expect(() => wantedBy("sandboxes,pods", ["a"])).toThrow("a single type");
});

test("objects and lists are printed without their managers", () => {
  const managed = { metadata: { name: "a", managedFields: [{ manager: "x" }] }, spec: {} };
  const plain = { metadata: { name: "a" }, spec: {} };
  expect(withoutManagers(managed)).toEqual(plain);
  const list = { kind: "List", metadata: { resourceVersion: "1" }, items: [managed, plain] };
  expect(withoutManagers(list)).toEqual({ ...list, items: [plain, plain] });
  expect(withoutManagers({ kind: "List", items: [managed] })).toEqual({ kind: "List", items: [plain] });
});
