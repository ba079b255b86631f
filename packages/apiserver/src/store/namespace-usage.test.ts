import { expect, test } from "vitest";
import { NamespaceUsage } from "./namespace-usage.ts";
import { ObjectCache } from "./object-cache.ts";
import { Objects } from "./objects.ts";
import { Saved } from "./saved.ts";

const cache = new ObjectCache();
const saved = (key: string, length: number): Saved =>
  new Saved(cache, { revision: 1, key, json: JSON.stringify("x".repeat(length - 2)) });

test("counts existing objects and every change", () => {
  const first = saved("a/one", 10);
  const usage = new NamespaceUsage([
    new Objects(new Map([["a/one", first]])),
    new Objects(new Map([["node", saved("node", 99)]])),
  ]);
  expect([usage.of("a"), usage.of("b"), usage.bytes]).toEqual([
    { objects: 1, bytes: 10 },
    { objects: 0, bytes: 0 },
    10,
  ]);
  const larger = saved("a/one", 30);
  usage.change("a/one", first, larger);
  usage.change("b/one", undefined, saved("b/one", 5));
  expect([usage.of("a"), usage.of("b"), usage.bytes]).toEqual([
    { objects: 1, bytes: 30 },
    { objects: 1, bytes: 5 },
    35,
  ]);
  expect(usage.after("a/two", undefined, saved("a/two", 4))).toEqual({ objects: 2, bytes: 34 });
  usage.change("a/one", larger, undefined);
  expect([usage.of("a"), usage.bytes]).toEqual([{ objects: 0, bytes: 0 }, 5]);
});
