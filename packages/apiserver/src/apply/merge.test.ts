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
    ["the configuration's scalar wins", { replicas: 1, title: "t" }, { replicas: 2 }, { replicas: 2, title: "t" }],
    ["granular maps are merged", { labels: { a: "1" } }, { labels: { b: "2" } }, { labels: { a: "1", b: "2" } }],
    ["atomic maps are replaced", { selector: { a: "1" } }, { selector: { b: "2" } }, { selector: { b: "2" } }],
    ["lists without a type are replaced", { args: ["a", "b"] }, { args: ["c"] }, { args: ["c"] }],
    ["sets are joined", { zones: ["a", "b"] }, { zones: ["c", "b"] }, { zones: ["a", "c", "b"] }],
    [
      "items with the same key are merged",
      { containers: [{ name: "c", image: "1", ports: [{ port: 80 }] }] },
      { containers: [{ name: "c", image: "2", ports: [{ port: 81 }] }] },
      { containers: [{ name: "c", image: "2", ports: [{ port: 80 }, { port: 81 }] }] },
    ],
    [
      "a key and its default are the same key",
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
    ["null for a scalar is taken", { replicas: 1 }, { replicas: null }, { replicas: null }],
    ["null removes nothing from a map", { labels: { a: "1" } }, { labels: null }, { labels: { a: "1" } }],
    ["the configuration chooses between empty and null", { labels: {} }, { labels: null }, { labels: null }],
    ["a value may change its form", { size: 1 }, { size: "5%" }, { size: "5%" }],
    ["a deduced value may become an object", { free: { a: 1 } }, { free: { a: { b: 1 } } }, { free: { a: { b: 1 } } }],
    [
      "an item that the live list repeats is taken from the configuration alone",
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
    ["a configuration that has all", "abc", "cab", "cab"],
    ["new items where the configuration has them", "abc", "xaybz", "xaybcz"],
    ["the server's items between those that both have", "a1b2", "ba", "1b2a"],
    ["the server's items at the end", "a12", "a", "a12"],
    ["the server's items before what follows them", "12a", "ba", "12ba"],
    ["nothing in common", "12", "ab", "12ab"],
    ["an empty configuration", "ab", "", "ab"],
    ["an empty live list", "", "ab", "ab"],
    ["a swap around one of the server's", "a1b", "ba", "1ba"],
  ] as const)("orders items: %s", ([, live, config, expected]) => {
    expect(namesOf(merged(named(live.split("")), named(config.split("")))).join("")).toBe(expected);
  });

  test("has every item once, those of the configuration in its order", () => {
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

  test("merging twice is merging once, and merging nothing changes nothing", () => {
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
