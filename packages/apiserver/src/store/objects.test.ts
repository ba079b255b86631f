import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ObjectCache } from "./object-cache.ts";
import { Objects } from "./objects.ts";
import { Saved } from "./saved.ts";
import type { Stored } from "./store.ts";

const cache = new ObjectCache();
const stored = (revision: number): Stored => new Saved(cache, { revision, key: "k", json: "{}" });

test("lists objects by prefix, sorted by key, after any additions and deletions", () => {
  const key = fc
    .tuple(fc.constantFrom("a", "a-b", "b"), fc.constantFrom("x", "y", "z"))
    .map(([namespace, name]) => `${namespace}/${name}`);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), key)), (steps) => {
      const objects = new Objects();
      const model = new Map<string, number>();
      for (const [at, [put, name]] of steps.entries()) {
        if (put) {
          objects.set(name, stored(at));
          model.set(name, at);
        } else {
          objects.delete(name);
          model.delete(name);
        }
      }
      const expected = [...model]
        .filter(([name]) => name.startsWith("a/"))
        .sort(([left], [right]) => (left < right ? -1 : 1));
      expect([...objects.entries("a/")].map(([name, { revision }]) => [name, revision])).toEqual(expected);
      expect(objects.size).toBe(model.size);
    }),
  );
});
