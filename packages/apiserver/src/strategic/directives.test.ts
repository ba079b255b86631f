import { describe, expect, test } from "vitest";
import { named, patched } from "./patched.test.support.ts";

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
