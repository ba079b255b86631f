import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Store } from "./store.ts";

interface Item {
  readonly tags: readonly string[];
}

const tagsOf = (item: Item): readonly string[] => item.tags;
const tags = fc.uniqueArray(fc.constantFrom("red", "green", "blue"));
const step = fc.record({
  key: fc.constantFrom("a", "b", "c", "d"),
  item: fc.option(tags.map((some) => ({ tags: some }))),
});

describe("Store", () => {
  test("finds the same objects by an index as by a search of all objects", () => {
    fc.assert(
      fc.property(fc.array(step, { size: "max", maxLength: 60 }), fc.nat({ max: 60 }), (steps, late) => {
        const store = new Store<Item>();
        const early = store.index("tags", tagsOf);
        for (const [at, { key, item }] of steps.entries()) {
          // A second index, created later, must contain the existing objects.
          if (at === late) store.index("late", tagsOf);
          store.put(key, item ?? undefined);
        }
        for (const index of [early, store.index("late", tagsOf)]) {
          for (const tag of ["red", "green", "blue"]) {
            const expected = [...store.values()].filter((item) => item.tags.includes(tag));
            expect(new Set(index.get(tag))).toEqual(new Set(expected));
            expect(index.count(tag)).toBe(expected.length);
          }
        }
      }),
    );
  });

  test("returns what a change did, and undefined if it did nothing", () => {
    const store = new Store<Item>();
    const first = { tags: ["red"] };
    expect(store.put("a", undefined)).toBeUndefined();
    expect(store.put("a", first)).toEqual({ key: "a", old: undefined, new: first });
    expect(store.put("a", undefined)).toEqual({ key: "a", old: first, new: undefined });
  });

  test("rejects two functions with one name", () => {
    const store = new Store<Item>();
    store.index("tags", tagsOf);
    expect(() => store.index("tags", () => [])).toThrow('Cannot add index "tags": it exists with another function');
  });
});
