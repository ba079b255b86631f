import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deducedType, objectType } from "./field-type.ts";
import { merge } from "./merge.ts";
import { widgetSchema } from "./widget.test.support.ts";

const type = objectType(widgetSchema);

function merged(live: object, config: object): unknown {
  const before = JSON.stringify([live, config]);
  const result = merge({ spec: live }, { spec: config }, type) as { spec: unknown };
  expect(JSON.stringify([live, config])).toBe(before);
  return result.spec;
}

const named = (names: readonly string[]): { containers: object[] } => ({
  containers: names.map((name) => ({ name })),
});
const namesOf = (spec: unknown): string[] =>
  (spec as { containers: { name: string }[] }).containers.map(({ name }) => name);

describe("merge()", () => {
  test.for<[string, object, object, object]>([
    ["takes scalars from the configuration", { replicas: 1, title: "t" }, { replicas: 2 }, { replicas: 2, title: "t" }],
    ["merges granular maps", { labels: { a: "1" } }, { labels: { b: "2" } }, { labels: { a: "1", b: "2" } }],
    ["replaces atomic maps", { selector: { a: "1" } }, { selector: { b: "2" } }, { selector: { b: "2" } }],
    ["replaces lists without a type", { args: ["a", "b"] }, { args: ["c"] }, { args: ["c"] }],
    ["merges sets", { zones: ["a", "b"] }, { zones: ["c", "b"] }, { zones: ["a", "c", "b"] }],
    [
      "merges items with the same key",
      { containers: [{ name: "c", image: "1", ports: [{ port: 80 }] }] },
      { containers: [{ name: "c", image: "2", ports: [{ port: 81 }] }] },
      { containers: [{ name: "c", image: "2", ports: [{ port: 80 }, { port: 81 }] }] },
    ],
    [
      "treats a missing key like its default",
      { containers: [{ name: "c", ports: [{ port: 80, hostPort: 1 }] }] },
      {
        containers: [
          {
            name: "c",
            ports: [
              { port: 80, protocol: "TCP", hostPort: 2 },
              { port: 80, protocol: "UDP" },
            ],
          },
        ],
      },
      {
        containers: [
          {
            name: "c",
            ports: [
              { port: 80, hostPort: 2, protocol: "TCP" },
              { port: 80, protocol: "UDP" },
            ],
          },
        ],
      },
    ],
    ["takes null for a scalar", { replicas: 1 }, { replicas: null }, { replicas: null }],
    ["keeps a map if the configuration has null", { labels: { a: "1" } }, { labels: null }, { labels: { a: "1" } }],
    ["takes an empty map or null from the configuration", { labels: {} }, { labels: null }, { labels: null }],
    ["replaces a value by one of another form", { size: 1 }, { size: "5%" }, { size: "5%" }],
    [
      "replaces a value without a schema by an object",
      { free: { a: 1 } },
      { free: { a: { b: 1 } } },
      { free: { a: { b: 1 } } },
    ],
    [
      "takes an item from the configuration if the live list has duplicates of it",
      {
        containers: [
          { name: "c", image: "1" },
          { name: "c", image: "2" },
        ],
      },
      { containers: [{ name: "c" }] },
      { containers: [{ name: "c" }] },
    ],
  ])("%s", ([, live, config, expected]) => {
    expect(merged(live, config)).toEqual(expected);
  });

  test.for([
    ["the configuration has all items", "abc", "cab", "cab"],
    ["new items", "abc", "xaybz", "xaybcz"],
    ["live-only items between common ones", "a1b2", "ba", "1b2a"],
    ["live-only items at the end", "a12", "a", "a12"],
    ["live-only items at the start", "12a", "ba", "12ba"],
    ["nothing in common", "12", "ab", "12ab"],
    ["an empty configuration", "ab", "", "ab"],
    ["an empty live list", "", "ab", "ab"],
    ["common items swapped around a live-only one", "a1b", "ba", "1ba"],
  ] as const)("orders items: %s", ([, live, config, expected]) => {
    expect(namesOf(merged(named(live.split("")), named(config.split("")))).join("")).toBe(expected);
  });

  test("contains every item once, and those of the configuration in its order", () => {
    const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f", "g").map(String), { maxLength: 6 });
    fc.assert(
      fc.property(names, names, (live, config) => {
        const result = namesOf(merged(named(live), named(config)));
        expect([...result].sort()).toEqual([...new Set([...live, ...config])].sort());
        expect(result.filter((name) => config.includes(name))).toEqual(config);
        const own = live.filter((name) => !config.includes(name));
        expect(result.filter((name) => !config.includes(name))).toEqual(own);
      }),
    );
  });

  test("merging twice gives the same result as merging once, and merging nothing changes nothing", () => {
    const value = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(value, value, (live, config) => {
        const once = merge(live, config, deducedType);
        expect(merge(once, config, deducedType)).toEqual(once);
        expect(merge(live, live, deducedType)).toEqual(live);
      }),
    );
  });

  test("a member called __proto__ is a member", () => {
    const config: unknown = JSON.parse('{"spec":{"free":{"__proto__":{"polluted":1}}}}');
    const result = merge({ spec: { free: { a: 1 } } }, config, type);
    expect(JSON.stringify(result)).toBe('{"spec":{"free":{"a":1,"__proto__":{"polluted":1}}}}');
    expect({}).not.toHaveProperty("polluted");
  });
});
