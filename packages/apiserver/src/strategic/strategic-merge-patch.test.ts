import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../api-object.ts";
import type { MergeSchema } from "../apply/merge-schema.ts";
import { strategicMergePatch } from "./strategic-merge-patch.ts";

const text: MergeSchema = { type: "string" };
const byName = { "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name" } as const;
const pair: MergeSchema = { type: "object", properties: { name: text, value: text } };

const spec: MergeSchema = {
  type: "object",
  properties: {
    replicas: { type: "integer" },
    labels: { type: "object", additionalProperties: text },
    args: { type: "array", items: text },
    zones: { type: "array", items: text, "x-kubernetes-patch-strategy": "merge" },
    containers: {
      type: "array",
      items: {
        type: "object",
        properties: { name: text, image: text, env: { type: "array", items: pair, ...byName } },
      },
      ...byName,
    },
    volumes: { type: "array", items: pair, ...byName, "x-kubernetes-patch-strategy": "merge,retainKeys" },
    strategy: { type: "object", properties: { type: text }, "x-kubernetes-patch-strategy": "retainKeys" },
    whole: { type: "object", additionalProperties: text, "x-kubernetes-patch-strategy": "replace" },
    keyless: { type: "array", items: pair, "x-kubernetes-patch-strategy": "merge" },
  },
};
const schema: MergeSchema = { type: "object", properties: { spec } };

function patched(live: unknown, patch: unknown): unknown {
  const before = JSON.stringify([live, patch]);
  const result = strategicMergePatch({ spec: live }, { spec: patch }, schema);
  expect(JSON.stringify([live, patch])).toBe(before);
  return "value" in result ? result.value["spec"] : result;
}

const named = (names: string): object[] => names.split("").map((name) => ({ name }));

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

describe("$patch", () => {
  test.for<[string, unknown, unknown, unknown]>([
    [
      "replace replaces an object",
      { labels: { a: "1" } },
      { labels: { $patch: "replace", b: "2" } },
      { labels: { b: "2" } },
    ],
    ["delete empties an object", { labels: { a: "1" } }, { labels: { $patch: "delete" } }, { labels: {} }],
    [
      "replace replaces a list",
      { containers: named("ab") },
      { containers: [{ $patch: "replace" }, { name: "c" }] },
      { containers: named("c") },
    ],
    [
      "delete removes list items by their key",
      { containers: named("abc") },
      { containers: [{ $patch: "delete", name: "b" }, { $patch: "delete", name: "x" }, { name: "d" }] },
      { containers: named("dac") },
    ],
    [
      "delete does nothing when there is nothing to delete",
      {},
      { labels: { $patch: "delete" }, containers: [{ $patch: "delete", name: "a" }] },
      { containers: [] },
    ],
    [
      "directives inside a new item are dropped",
      { containers: [] },
      {
        containers: [
          {
            name: "a",
            image: null,
            env: [{ $patch: "delete", name: "X" }],
            "$setElementOrder/env": [{ name: "X" }],
            $retainKeys: [],
          },
        ],
      },
      { containers: [{ name: "a", env: [] }] },
    ],
  ])("%s", ([, live, patch, expected]) => {
    expect(patched(live, patch)).toEqual(expected);
  });
});

describe("$retainKeys", () => {
  test("removes members that it does not name", () => {
    const live = { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } };
    expect(patched(live, { strategy: { $retainKeys: ["type"], type: "Recreate" } })).toEqual({
      strategy: { type: "Recreate" },
    });
  });

  test("works inside list items", () => {
    const live = { volumes: [{ name: "v", value: "1" }] };
    expect(patched(live, { volumes: [{ $retainKeys: ["name", "path"], name: "v", path: "/" }] })).toEqual({
      volumes: [{ name: "v", path: "/" }],
    });
  });

  test.for([[{ $retainKeys: ["type"], other: 1 }], [{ $retainKeys: "type" }]])("%j is refused", ([strategy]) => {
    expect(patched({ strategy: { type: "x" } }, { strategy })).toEqual({
      problem: "invalid patch format of retainKeys",
      code: 400,
    });
  });

  test("need not name members that the patch deletes", () => {
    const strategy = { $retainKeys: ["type"], type: "y", other: null };
    expect(patched({ strategy: { type: "x", other: 1 } }, { strategy })).toEqual({ strategy: { type: "y" } });
  });
});

describe("$deleteFromPrimitiveList", () => {
  test.for<[string, unknown, unknown, unknown]>([
    [
      "removes scalars",
      { zones: ["a", "b", "c"] },
      { "$deleteFromPrimitiveList/zones": ["b", "x"] },
      { zones: ["a", "c"] },
    ],
    [
      "is applied after additions to the same list",
      { zones: ["a"] },
      { "$deleteFromPrimitiveList/zones": ["a", "b"], zones: ["b", "c"] },
      { zones: ["c"] },
    ],
    [
      "works for lists without a strategy",
      { args: ["a", "b"] },
      { "$deleteFromPrimitiveList/args": ["a"] },
      { args: ["b"] },
    ],
    ["ignores a missing list", {}, { "$deleteFromPrimitiveList/zones": ["a"] }, {}],
  ])("%s", ([, live, patch, expected]) => {
    expect(patched(live, patch)).toEqual(expected);
  });
});

describe("$setElementOrder", () => {
  const ordered = (live: string, patch: string | undefined, order: string): unknown => {
    const result = patched(
      { containers: named(live) },
      { ...(patch === undefined ? {} : { containers: named(patch) }), "$setElementOrder/containers": named(order) },
    );
    return (result as { containers?: { name: string }[] }).containers?.map(({ name }) => name).join("") ?? result;
  };

  test.for([
    ["sorts the live list", "abc", undefined, "cab", "cab"],
    ["places new items", "ab", "c", "bca", "bca"],
    ["keeps server-only items before the items that followed them", "1a2b3", "c", "acb", "1ac2b3"],
    ["keeps the order of server-only items", "12", "a", "a", "a12"],
    ["ignores names of items that do not exist", "ab", undefined, "xbya", "ba"],
  ] as const)("%s", ([, live, patch, order, expected]) => {
    expect(ordered(live, patch, order)).toBe(expected);
  });

  test("places a new item after server-only items when another item is deleted", () => {
    const patch = {
      containers: [{ name: "b" }, { $patch: "delete", name: "d" }],
      "$setElementOrder/containers": [{ name: "b" }],
    };
    expect(patched({ containers: named("ad") }, patch)).toEqual({ containers: named("ab") });
  });

  test("sorts lists of scalars", () => {
    const patch = { zones: ["d"], "$setElementOrder/zones": ["d", "b", "a"], "$deleteFromPrimitiveList/zones": ["c"] };
    expect(patched({ zones: ["a", "b", "c"] }, patch)).toEqual({ zones: ["d", "b", "a"] });
  });

  test("must contain the items of the patch in the same order", () => {
    for (const [patch, order] of [
      ["ab", "ba"],
      ["ab", "a"],
    ] as const) {
      expect(ordered("ab", patch, order)).toEqual({
        code: 400,
        problem: `The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder list:\n[${order
          .split("")
          .map((name) => `map[name:${name}]`)
          .join(" ")}]\n`,
      });
    }
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
