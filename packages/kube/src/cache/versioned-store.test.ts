import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../resource.ts";
import type { Change } from "../watch/follow.ts";
import { VersionedStore } from "./versioned-store.ts";

const object = (name: string, version: number, uid = `uid-${name}`): KubeObject => ({
  metadata: { name, uid, resourceVersion: String(version) },
});
const reset = (version: number, ...items: KubeObject[]): Change<KubeObject> => ({
  type: "reset",
  items,
  resourceVersion: String(version),
});
const upsert = (...items: KubeObject[]): Change<KubeObject> => ({
  type: "changes",
  events: items.map((item) => ({ type: "upsert", object: item })),
  resourceVersion: items.at(-1)?.metadata?.resourceVersion ?? "",
});
const removal = (item: KubeObject): Change<KubeObject> => ({
  type: "changes",
  events: [{ type: "delete", object: item }],
  resourceVersion: item.metadata?.resourceVersion ?? "",
});
const names = (store: VersionedStore<KubeObject>): string[] =>
  Array.from(store.values(), ({ metadata }) => `${metadata?.name}@${metadata?.resourceVersion}`).sort();

describe("VersionedStore", () => {
  test("returns exactly the changes between two lists", () => {
    const store = new VersionedStore();
    const [same, old, gone] = [object("same", 1), object("changed", 2), object("gone", 3)];
    store.apply(reset(5, same, old, gone));
    const [changed, added] = [object("changed", 7), object("added", 8)];
    const deltas = store.apply(reset(9, object("same", 1), changed, added));
    expect(deltas).toEqual([
      { key: "changed", old, new: changed },
      { key: "added", old: undefined, new: added },
      { key: "gone", old: gone, new: undefined },
    ]);
    // Unchanged objects are not replaced.
    expect(store.get("same")).toBe(same);
  });

  test("reports a recreated object as a change, even with the same version number", () => {
    const store = new VersionedStore();
    store.apply(reset(5, object("a", 3, "first")));
    expect(store.apply(reset(6, object("a", 3, "second")))).toHaveLength(1);
  });

  test("ignores repeated events", () => {
    const store = new VersionedStore();
    store.apply(reset(5, object("a", 3)));
    expect(store.apply(upsert(object("a", 3)))).toEqual([]);
    expect(store.apply(upsert(object("a", 7), object("a", 6)))).toHaveLength(1);
    expect(names(store)).toEqual(["a@7"]);
  });

  test("does not undo a live read by older events", () => {
    const store = new VersionedStore();
    store.apply(reset(5, object("a", 3), object("b", 4)));
    store.applyLiveRead("a", object("a", 9), "10");
    store.applyLiveRead("b", undefined, "10");
    expect([store.knownAt("a"), store.knownAt("b"), store.knownAt("c")]).toEqual(["10", "10", "5"]);
    expect(store.apply(upsert(object("a", 6), object("b", 7), object("c", 8)))).toHaveLength(1);
    expect(store.apply(removal(object("b", 8)))).toEqual([]);
    expect(names(store)).toEqual(["a@9", "c@8"]);
    expect(store.apply(upsert(object("a", 9), object("a", 11)))).toHaveLength(1);
    expect([store.knownAt("a"), store.knownAt("b")]).toEqual(["11", "11"]);
  });

  test("ignores a live read that is older than the feed", () => {
    const store = new VersionedStore();
    store.apply(reset(20, object("a", 15)));
    expect(store.applyLiveRead("a", undefined, "19")).toBeUndefined();
    expect(names(store)).toEqual(["a@15"]);
  });

  test("keeps the result of a live read in an older list and replaces it in a later one", () => {
    const store = new VersionedStore();
    store.apply(reset(5, object("a", 3)));
    store.applyLiveRead("new", object("new", 9), "10");
    store.applyLiveRead("a", undefined, "10");
    expect(store.apply(reset(8, object("a", 3)))).toEqual([]);
    expect(names(store)).toEqual(["new@9"]);
    expect(store.apply(reset(12, object("a", 11)))).toHaveLength(2);
    expect(names(store)).toEqual(["a@11"]);
  });

  test("accepts the older state of a server restored from a backup", () => {
    const store = new VersionedStore();
    store.apply(reset(100, object("a", 90), object("b", 95)));
    store.applyLiveRead("b", undefined, "110");
    const restored = reset(50, object("a", 40), object("b", 45));
    expect(store.goesBack(restored)).toBe(true);
    store.apply(restored);
    expect(names(store)).toEqual(["a@40", "b@45"]);
    store.apply(upsert(object("a", 51)));
    expect([store.version, ...names(store)]).toEqual(["51", "a@51", "b@45"]);
  });

  test("applies changes with versions that are not numbers in order", () => {
    const store = new VersionedStore();
    const odd = (version: string): KubeObject => ({ metadata: { name: "a", uid: "u", resourceVersion: version } });
    store.apply({ type: "reset", items: [odd("x1")], resourceVersion: "x1" });
    store.applyLiveRead("a", odd("x3"), "x3");
    expect(store.get("a")).toEqual(odd("x3"));
    store.apply({ type: "changes", events: [{ type: "upsert", object: odd("x4") }], resourceVersion: "x4" });
    expect(store.get("a")).toEqual(odd("x4"));
  });
});

/** A history of changes to a few names, each with its own version. */
const history = fc
  .array(fc.record({ name: fc.constantFrom("a", "b", "c"), gone: fc.boolean() }), { size: "max", maxLength: 40 })
  .map((changes) => changes.map((change, at) => ({ ...change, version: at + 1 })));

function truthAt(
  changes: readonly { name: string; gone: boolean; version: number }[],
  version: number,
): Map<string, number> {
  const truth = new Map<string, number>();
  for (const change of changes.filter((some) => some.version <= version)) {
    if (change.gone) truth.delete(change.name);
    else truth.set(change.name, change.version);
  }
  return truth;
}

describe("VersionedStore with any live reads", () => {
  test("never goes back for a key, and ends with the final state", () => {
    const ahead = fc.array(fc.record({ before: fc.nat(40), name: fc.constantFrom("a", "b", "c"), by: fc.nat(10) }));
    const relist = fc.array(fc.nat(40), { maxLength: 3 });
    fc.assert(
      fc.property(history, ahead, relist, (changes, reads, lists) => {
        const store = new VersionedStore();
        store.apply(reset(0));
        const wrong: string[] = [];
        for (const { name, gone, version } of changes) {
          for (const read of reads.filter(({ before }) => before === version)) {
            const at = Math.min(changes.length, version + read.by);
            const found = truthAt(changes, at).get(read.name);
            store.applyLiveRead(read.name, found === undefined ? undefined : object(read.name, found), String(at));
          }
          if (lists.includes(version)) {
            store.apply(reset(version, ...Array.from(truthAt(changes, version), ([key, found]) => object(key, found))));
          } else store.apply(gone ? removal(object(name, version)) : upsert(object(name, version)));
          for (const key of ["a", "b", "c"]) {
            const shown = Number(store.get(key)?.metadata?.resourceVersion ?? 0);
            const expected = truthAt(changes, Number(store.knownAt(key))).get(key) ?? 0;
            if (shown !== expected) wrong.push(`${key} shows ${shown} at ${store.knownAt(key)}, not ${expected}`);
          }
        }
        expect(wrong).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
