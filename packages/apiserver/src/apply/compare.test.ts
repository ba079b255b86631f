import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compare, ignoring } from "./compare.ts";
import { fieldsOf } from "./extract.ts";
import { difference, isEmptySet, pathsOf, union } from "./field-set.ts";
import { deducedType, objectType } from "./field-type.ts";
import { renderPath } from "./path-element.ts";
import { fields, widgetSchema } from "./widget.test.support.ts";

const type = objectType(widgetSchema);

interface Listed {
  readonly added?: readonly string[];
  readonly modified?: readonly string[];
  readonly removed?: readonly string[];
}

function changes(before: object, after: object): Listed {
  const found = Object.entries(compare({ spec: before }, { spec: after }, type)).map(
    ([how, set]) => [how, [...pathsOf(set)].map((path) => renderPath(path.slice(1)))] as const,
  );
  return Object.fromEntries(found.filter(([, paths]) => paths.length > 0));
}

describe("compare()", () => {
  test.for<[string, object, object, Listed]>([
    ["a scalar", { replicas: 1 }, { replicas: 2 }, { modified: [".replicas"] }],
    ["null is a value", { replicas: 1 }, { replicas: null }, { modified: [".replicas"] }],
    ["nothing", { replicas: 1, args: ["a"] }, { args: ["a"], replicas: 1 }, {}],
    ["an added field", {}, { labels: { a: "1" } }, { added: [".labels", ".labels.a"] }],
    ["a removed field", { labels: { a: "1" } }, {}, { removed: [".labels", ".labels.a"] }],
    ["an empty map", { labels: {} }, { labels: { a: "1" } }, { added: [".labels.a"] }],
    ["an atomic map", { selector: { a: "1" } }, { selector: { a: "2", b: "1" } }, { modified: [".selector"] }],
    ["the order of an atomic list", { args: ["a", "b"] }, { args: ["b", "a"] }, { modified: [".args"] }],
    ["the order of a set is ignored", { zones: ["a", "b"] }, { zones: ["b", "a"] }, {}],
    [
      "members of a set",
      { zones: ["a", "b"] },
      { zones: ["b", "c"] },
      { added: ['.zones[="c"]'], removed: ['.zones[="a"]'] },
    ],
    [
      "a field inside an item",
      { containers: [{ name: "c", image: "1" }] },
      { containers: [{ name: "d" }, { name: "c", image: "2" }] },
      {
        added: ['.containers[name="d"]', '.containers[name="d"].name'],
        modified: ['.containers[name="c"].image'],
      },
    ],
    ["an empty list and null differ", { zones: [] }, { zones: null }, { modified: [".zones"] }],
    [
      "an object becomes a scalar",
      { free: { a: { b: 1 } } },
      { free: { a: 1 } },
      { modified: [".free.a"], removed: [".free.a.b"] },
    ],
    [
      "a scalar becomes an object",
      { free: { a: 1 } },
      { free: { a: { b: 1 } } },
      { added: [".free.a.b"], modified: [".free.a"] },
    ],
    [
      "duplicate items are compared as a whole",
      { containers: [{ name: "c" }, { name: "c", image: "1" }] },
      { containers: [{ name: "c" }, { name: "c", image: "2" }] },
      { modified: ['.containers[name="c"]'] },
    ],
    [
      "an item that is no longer duplicate",
      { containers: [{ name: "c" }, { name: "c" }] },
      { containers: [{ name: "c" }] },
      { added: ['.containers[name="c"]', '.containers[name="c"].name'], removed: ['.containers[name="c"]'] },
    ],
    [
      "an item that becomes duplicate",
      { containers: [{ name: "c" }] },
      { containers: [{ name: "c" }, { name: "c" }] },
      { added: ['.containers[name="c"]'], removed: ['.containers[name="c"]', '.containers[name="c"].name'] },
    ],
  ])("%s", ([, before, after, expected]) => {
    expect(changes(before, after)).toEqual(expected);
  });

  test("ignoring() drops a field and everything inside it", () => {
    const comparison = compare({ spec: { replicas: 1 } }, { spec: { replicas: 2 }, status: { phase: "x" } }, type);
    const { added, modified } = ignoring(comparison, fields("status"));
    expect([...pathsOf(union(added, modified))].map(renderPath)).toEqual([".spec.replicas"]);
  });

  test("an object equals itself, and added and removed fields are symmetric", () => {
    const value = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(value, value, (before, after) => {
        const same = compare(before, structuredClone(before), deducedType);
        expect(isEmptySet(union(union(same.added, same.modified), same.removed))).toBe(true);
        const there = compare(before, after, deducedType);
        const back = compare(after, before, deducedType);
        expect([...pathsOf(there.added)]).toEqual([...pathsOf(back.removed)]);
        expect([...pathsOf(there.modified)]).toEqual([...pathsOf(back.modified)]);
        const unexplained = difference(fieldsOf(after, deducedType), fieldsOf(before, deducedType));
        expect(isEmptySet(difference(difference(unexplained, there.added), there.modified))).toBe(true);
      }),
    );
  });
});
