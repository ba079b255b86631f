import { expect, test } from "vitest";
import { threeWayPatch } from "./three-way-patch.ts";

test.for([
  ["nothing to do", { a: 1 }, { a: 1 }, { a: 1, b: 2 }, undefined],
  ["a new value", {}, { a: 2 }, { a: 1 }, { a: 2 }],
  [
    "a value no longer wanted is removed",
    { a: 1, b: { c: 1, d: 2 } },
    { b: { c: 1 } },
    { a: 1, b: { c: 1, d: 2 } },
    { a: null, b: { d: null } },
  ],
  ["what others wrote stays", { a: 1 }, { a: 1 }, { a: 1, others: true }, undefined],
  ["a removed value that is gone already", { a: 1 }, {}, {}, undefined],
  ["lists are replaced whole", {}, { list: [1, 2] }, { list: [1] }, { list: [1, 2] }],
  [
    "the order of keys in a list's items does not matter",
    {},
    { list: [{ a: 1, b: 2 }] },
    { list: [{ b: 2, a: 1 }] },
    undefined,
  ],
  ["an object where a scalar was", {}, { a: { b: 1 } }, { a: 1 }, { a: { b: 1 } }],
] as const)("%s", ([, lastApplied, wanted, live, expected]) => {
  expect(threeWayPatch(lastApplied, wanted, live)).toEqual(expected);
});
