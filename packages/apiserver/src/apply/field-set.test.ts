import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  difference,
  equalSets,
  type FieldSet,
  fieldSetOf,
  hasField,
  inside,
  intersection,
  isEmptySet,
  noFields,
  pathsOf,
  union,
  without,
} from "./field-set.ts";
import { fieldSet } from "./field-sets.test.support.ts";
import { field, renderPath } from "./path-element.ts";

const set = (...paths: readonly string[]): FieldSet => fieldSetOf(paths.map((path) => path.split(".").map(field)));
const listed = (of: FieldSet): string[] => [...pathsOf(of)].map(renderPath);

describe("membership", () => {
  test("a field and the fields inside it are separate members", () => {
    const owned = set("spec.replicas", "meta");
    expect(hasField(owned, [field("spec"), field("replicas")])).toBe(true);
    expect(hasField(owned, [field("spec")])).toBe(false);
    expect(hasField(owned, [field("meta"), field("name")])).toBe(false);
    expect(hasField(owned, [])).toBe(false);
    expect(listed(inside(owned, field("spec")))).toEqual([".replicas"]);
  });

  test("the object itself is never a member", () => {
    expect(isEmptySet(fieldSetOf([[]]))).toBe(true);
  });

  test("members are listed by level and sorted", () => {
    expect(listed(set("b", "a.z", "a", "c.d.e", "a.b"))).toEqual([".a", ".b", ".a.b", ".a.z", ".c.d.e"]);
  });
});

describe("difference() and without()", () => {
  test.for([
    ["parent minus child is the parent", ["a"], ["a.b"], [".a"], [".a"]],
    ["child minus parent", ["a.b"], ["a"], [".a.b"], []],
    ["both minus parent", ["a", "a.b"], ["a"], [".a.b"], []],
    ["siblings stay", ["a.b", "a.c"], ["a.b"], [".a.c"], [".a.c"]],
  ] as const)("%s", ([, left, right, plain, deep]) => {
    expect(listed(difference(set(...left), set(...right)))).toEqual(plain);
    expect(listed(without(set(...left), set(...right)))).toEqual(deep);
  });
});

describe("algebra", () => {
  test("agrees with sets of paths", () => {
    fc.assert(
      fc.property(fieldSet, fieldSet, (a, b) => {
        const [left, right] = [listed(a), listed(b)];
        const sorted = (paths: readonly string[]): string[] => [...new Set(paths)].sort();
        expect(listed(union(a, b)).sort()).toEqual(sorted([...left, ...right]));
        expect(listed(intersection(a, b)).sort()).toEqual(sorted(left.filter((path) => right.includes(path))));
        expect(listed(difference(a, b)).sort()).toEqual(sorted(left.filter((path) => !right.includes(path))));
        expect(equalSets(a, b)).toBe(sorted(left).join() === sorted(right).join());
      }),
    );
  });

  test("is commutative, associative, idempotent and absorbing", () => {
    fc.assert(
      fc.property(fieldSet, fieldSet, fieldSet, (a, b, c) => {
        expect(equalSets(union(a, b), union(b, a))).toBe(true);
        expect(equalSets(intersection(a, b), intersection(b, a))).toBe(true);
        expect(equalSets(union(union(a, b), c), union(a, union(b, c)))).toBe(true);
        expect(equalSets(union(a, a), a)).toBe(true);
        expect(equalSets(intersection(a, union(a, b)), a)).toBe(true);
        expect(equalSets(union(difference(a, b), intersection(a, b)), a)).toBe(true);
        expect(isEmptySet(intersection(difference(a, b), b))).toBe(true);
        expect(equalSets(difference(a, noFields), a)).toBe(true);
      }),
    );
  });

  test("without() leaves nothing at or below what is removed", () => {
    fc.assert(
      fc.property(fieldSet, fieldSet, (a, b) => {
        const rest = [...pathsOf(without(a, b))];
        for (const path of rest) {
          for (let length = 1; length <= path.length; length += 1) {
            expect(hasField(b, path.slice(0, length))).toBe(false);
          }
        }
      }),
    );
  });
});
