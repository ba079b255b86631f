import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../api-object.ts";
import type { MergeSchema } from "../apply/merge-schema.ts";
import { named, patched, schema, spec } from "./patched.test.support.ts";
import { strategicMergePatch } from "./strategic-merge-patch.ts";

describe("strategicMergePatch()", () => {
  test.for<[string, unknown, unknown, unknown]>([
    ["sets and adds members", { replicas: 1 }, { replicas: 2, args: ["a"] }, { replicas: 2, args: ["a"] }],
    [
      "deletes members whose value is null, and ignores null for missing members",
      { replicas: 1 },
      { replicas: null, args: null },
      {},
    ],
    ["merges objects", { labels: { a: "1", b: "2" } }, { labels: { b: null, c: "3" } }, { labels: { a: "1", c: "3" } }],
    ["replaces lists without a strategy", { args: ["a", "b"] }, { args: ["c"] }, { args: ["c"] }],
    ["merges lists of scalars", { zones: ["a", "b", "a"] }, { zones: ["c", "b"] }, { zones: ["c", "a", "b"] }],
    [
      "merges lists of objects by their merge key",
      { containers: [{ name: "a", image: "1" }, { name: "b" }] },
      { containers: [{ name: "a", image: "2" }, { name: "c" }] },
      { containers: [{ name: "a", image: "2" }, { name: "c" }, { name: "b" }] },
    ],
    [
      "merges lists inside of list items",
      {
        containers: [
          {
            name: "a",
            env: [
              { name: "X", value: "1" },
              { name: "Y", value: "1" },
            ],
          },
        ],
      },
      { containers: [{ name: "a", env: [{ name: "Y", value: "2" }] }] },
      {
        containers: [
          {
            name: "a",
            env: [
              { name: "X", value: "1" },
              { name: "Y", value: "2" },
            ],
          },
        ],
      },
    ],
    ["replaces a value by one of another type", { labels: { a: "1" } }, { labels: "none" }, { labels: "none" }],
    [
      "replaces an object whose strategy is replace",
      { whole: { a: "1" } },
      { whole: { b: "2" } },
      { whole: { b: "2" } },
    ],
    ["merges two empty lists", { zones: [] }, { zones: [] }, { zones: [] }],
  ])("%s", ([, live, patch, expected]) => {
    expect(patched(live, patch)).toEqual(expected);
  });

  test("merges metadata in the same way for every kind", () => {
    const live = { metadata: { name: "x", finalizers: ["a"], ownerReferences: [{ uid: "1", name: "o" }] } };
    const patch = {
      metadata: {
        finalizers: ["b"],
        "$deleteFromPrimitiveList/finalizers": ["a"],
        ownerReferences: [{ uid: "1", $patch: "delete" }, { uid: "2" }],
      },
    };
    expect(strategicMergePatch(live, patch, schema)).toEqual({
      value: { metadata: { name: "x", finalizers: ["b"], ownerReferences: [{ uid: "2" }] } },
    });
  });
});

describe("strategicMergePatch() refuses", () => {
  test.for<[string, unknown, string, number]>([
    [
      "an unknown directive",
      { labels: { $patch: "explode" } },
      "unknown patch type: explode in map: map[$patch:explode]",
      400,
    ],
    [
      "the directive merge in an object",
      { labels: { $patch: "merge" } },
      "unknown patch type: merge in map: map[$patch:merge]",
      400,
    ],
    [
      "the directive merge in a list",
      { containers: [{ $patch: "merge" }] },
      "merging lists cannot yet be specified in the patch",
      400,
    ],
    [
      "an unknown directive in a list",
      { containers: [{ $patch: 1, name: "a" }] },
      "unknown patch type: 1 in map: map[$patch:1 name:a]",
      400,
    ],
    [
      "an item without its merge key",
      { containers: [{ image: "i" }] },
      "map: map[image:i] does not contain declared merge key: name",
      400,
    ],
    [
      "a deletion without a merge key",
      { containers: [{ $patch: "delete" }] },
      "map: map[$patch:delete] does not contain declared merge key: name",
      400,
    ],
    [
      "to merge a list of objects that has no merge key",
      { keyless: [{ name: "x" }] },
      "cannot merge lists without merge key for object",
      400,
    ],
    ["items of several types", { zones: ["a", 1] }, "list element types are not identical: [[z] [a 1]]", 400],
    ["lists of lists", { nested: [["x"]] }, "lists of lists are not supported", 422],
    [
      "an order that is not a list",
      { "$setElementOrder/containers": "a" },
      "expected a []interface {}, but received a string",
      400,
    ],
    [
      "an order for a field that is not a list",
      { "$setElementOrder/labels": ["a"] },
      "expected a []interface {}, but received a map[string]interface {}",
      400,
    ],
    ["an order that names no list", { $setElementOrder: ["a"] }, "invalid patch format of setElementOrder list", 400],
    [
      "a deletion that names no list",
      { $deleteFromPrimitiveList: ["a"] },
      "invalid patch format of primitive list",
      400,
    ],
    [
      "a deletion that is not a list",
      { "$deleteFromPrimitiveList/zones": "a" },
      "invalid patch format of primitive list",
      400,
    ],
    [
      "an order without merge keys",
      { "$setElementOrder/containers": [{ image: "i" }] },
      "map: map[image:i] does not contain declared merge key: name",
      400,
    ],
    [
      "an order of scalars for a list of objects",
      { "$setElementOrder/containers": ["i"] },
      "expected a map[string]interface {}, but received a string",
      400,
    ],
    ["the key __proto__", JSON.parse('{"labels":{"__proto__":{"x":1}}}'), 'the key "__proto__" is not allowed', 400],
  ])("%s", ([, patch, problem, code]) => {
    const nested: MergeSchema = { type: "array", "x-kubernetes-patch-strategy": "merge" };
    const odd = { type: "object", properties: { spec: { ...spec, properties: { ...spec.properties, nested } } } };
    const live = {
      labels: { a: "1" },
      containers: named("a"),
      zones: ["z"],
      keyless: [{ name: "y" }],
      nested: [["y"]],
    };
    expect(strategicMergePatch({ spec: live }, { spec: patch }, odd)).toEqual({ problem, code });
  });

  test("a patch that is nested too deeply", () => {
    let deep: JsonObject = {};
    for (let level = 0; level < 20_000; level += 1) deep = { spec: deep };
    expect(strategicMergePatch({}, deep, schema)).toEqual({
      problem: "it is nested deeper than 100 levels",
      code: 400,
    });
  });
});

describe("properties", () => {
  const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { maxLength: 4 });
  const someSpec = fc.record(
    {
      replicas: fc.nat(3),
      labels: fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("1", "2")),
      args: fc.array(fc.constantFrom("a", "b"), { maxLength: 3 }),
      zones: names,
      containers: names.chain((all) =>
        fc.tuple(
          ...all.map((name) =>
            fc.record({ name: fc.constant(name), image: fc.constantFrom("1", "2") }, { requiredKeys: ["name"] }),
          ),
        ),
      ),
    },
    { requiredKeys: [] },
  );

  test("an empty patch, or the object itself as the patch, changes nothing", () => {
    fc.assert(
      fc.property(someSpec, (live) => {
        expect(strategicMergePatch({ spec: live }, {}, schema)).toEqual({ value: { spec: live } });
        expect(patched(live, {})).toEqual(live);
        expect(patched(live, live)).toEqual(live);
      }),
    );
  });

  test("applying a patch twice gives the same result as applying it once", () => {
    fc.assert(
      fc.property(someSpec, someSpec, (live, patch) => {
        const once = patched(live, patch);
        expect(patched(once, patch)).toEqual(once);
      }),
    );
  });

  test("the result contains all items of the patch in the order of the patch", () => {
    fc.assert(
      fc.property(names, names, (live, patch) => {
        const { zones } = patched({ zones: live }, { zones: patch }) as { zones: string[] };
        expect(zones.filter((zone) => (patch as string[]).includes(zone))).toEqual(patch);
        expect([...zones].sort()).toEqual([...new Set<string>([...live, ...patch])].sort());
      }),
    );
  });
});
