import { expect, test } from "vitest";
import { mergePatch } from "./merge-patch.ts";

test.for([
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
] as const)("mergePatch(%j, %j)", ([target, patch, expected]) => {
  const before = structuredClone(target);
  expect(mergePatch(target, patch)).toEqual(expected);
  expect(target).toEqual(before);
});

test("shares what it does not touch", () => {
  const target = { a: { deep: 1 }, b: 2 };
  expect((mergePatch(target, { b: 3 }) as typeof target).a).toBe(target.a);
});
