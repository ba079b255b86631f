import { describe, expect, test } from "vitest";
import { Interner } from "../interner.ts";
import { silentLogger } from "../logger.ts";
import type { Compaction, Journal, JournalRow } from "./journal.ts";
import { LogStore } from "./log-store.ts";
import { ObjectCache } from "./object-cache.ts";
import { replay } from "./replay.ts";
import type { Store, Write } from "./store.ts";

class FakeJournal implements Journal {
  batches: JournalRow[][] = [];
  compactions: Compaction[] = [];
  broken = false;
  uncompactable = false;
  readonly needsCheckpoint = false;

  append(rows: readonly JournalRow[]): void {
    if (this.broken) throw new Error("disk full");
    this.batches.push([...rows]);
  }
  compact(compaction: Compaction): void {
    if (this.uncompactable) throw new Error("disk full");
    this.compactions.push(compaction);
  }
  checkpoint(): void {}
  close(): void {}
}

function open(journal: FakeJournal, maxChanges = 100): Store {
  const cache = new ObjectCache(new Interner({ freeze: true }));
  const state = replay({ rows: journal.batches.flat(), floors: new Map() }, cache);
  return new LogStore({
    journal,
    state,
    clock: { now: () => 0 },
    logger: silentLogger,
    history: { maxChanges, maxAgeMs: 1000 },
  });
}

const put = (key: string, revision: number, value = ""): Write => ({
  resource: "things",
  key,
  object: { apiVersion: "v1", kind: "Thing", metadata: { name: key, resourceVersion: String(revision) }, value },
});
const create = (store: Store, key: string, value = ""): Promise<number> =>
  store.write((_view, revision) => ({ write: put(key, revision, value), result: revision }));
const remove = (store: Store, key: string): Promise<number> =>
  store.write((_view, revision) => ({ write: { resource: "things", key, object: undefined }, result: revision }));

describe("LogStore", () => {
  test("saves concurrent writes in one transaction, with one revision each", async () => {
    const journal = new FakeJournal();
    const store = open(journal);
    const revisions = await Promise.all(Array.from({ length: 10 }, (_, at) => create(store, `k${at}`)));
    expect(revisions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(journal.batches.map((batch) => batch.length)).toEqual([10]);
    expect(store.revision).toBe(10);
  });

  test("shows unsaved writes to decisions, and only saved ones to readers", async () => {
    const store = open(new FakeJournal());
    const first = create(store, "a", "1");
    const seen = store.write((view) => ({ result: view.get("things", "a")?.object["value"] }));
    expect(store.get("things", "a")).toBeUndefined();
    expect(store.revision).toBe(0);
    expect(await seen).toBe("1");
    expect(store.get("things", "a")?.revision).toBe(await first);
  });

  test("fails all queued writes when a commit fails, and accepts writes after that", async () => {
    const journal = new FakeJournal();
    const store = open(journal);
    journal.broken = true;
    const writes = await Promise.allSettled([
      create(store, "a"),
      create(store, "b"),
      store.write((view) => ({ result: view.get("things", "a") })),
    ]);
    expect(writes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(writes[0]).toMatchObject({
      reason: { reason: "InternalError", message: "Cannot save the object: disk full" },
    });
    journal.broken = false;
    expect(store.get("things", "a")).toBeUndefined();
    await create(store, "a");
    expect([...store.list("things")].map(({ object }) => object.metadata.name)).toEqual(["a"]);
  });

  test("changes nothing when a decision throws", async () => {
    const journal = new FakeJournal();
    const store = open(journal);
    await expect(
      store.write(() => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await create(store, "a")).toBe(1);
  });

  test("throws when code changes a stored object, if objects are frozen", async () => {
    const store = open(new FakeJournal());
    await create(store, "a", "1");
    const { object } = store.get("things", "a") as { object: { value?: unknown; metadata: { name?: string } } };
    expect(() => {
      object.value = "2";
    }).toThrow(TypeError);
    expect(() => {
      object.metadata.name = "b";
    }).toThrow(TypeError);
  });

  test("refuses an object that is too large", async () => {
    const store = open(new FakeJournal());
    await expect(create(store, "big", "x".repeat(1.5 * 1024 * 1024))).rejects.toMatchObject({
      reason: "RequestEntityTooLarge",
    });
    expect(await create(store, "small")).toBe(1);
  });

  test("refuses writes when too many are queued", async () => {
    const store = open(new FakeJournal());
    const writes = Array.from({ length: 20_001 }, (_, at) => create(store, `k${at}`));
    const settled = await Promise.allSettled(writes);
    expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect(settled.at(-1)).toMatchObject({ reason: { reason: "TooManyRequests" } });
  });

  test("is restored from its journal", async () => {
    const journal = new FakeJournal();
    const store = open(journal);
    await create(store, "a", "1");
    await create(store, "b", "1");
    await create(store, "a", "2");
    await remove(store, "b");
    const again = open(journal);
    expect(again.revision).toBe(4);
    expect([...again.list("things")]).toEqual([...store.list("things")]);
    const position = again.position("things", 1) as number;
    expect(again.read("things", position, 10)).toEqual(store.read("things", position, 10));
    expect(again.listAt("things", 2)?.map(({ object }) => object["value"])).toEqual(["1", "1"]);
  });

  test("deletes journal rows that no watch can need, but none of current objects", async () => {
    const journal = new FakeJournal();
    const store = open(journal, 8);
    await create(store, "kept");
    await create(store, "gone");
    await remove(store, "gone");
    for (let at = 0; at < 20; at += 1) await create(store, "busy", String(at));
    const forgotten = new Set(journal.compactions.flatMap(({ revisions }) => revisions));
    const rows = journal.batches.flat().filter(({ revision }) => !forgotten.has(revision));
    const floors = new Map(journal.compactions.flatMap((compaction) => [...compaction.floors]));
    const { objects, revision } = replay({ rows, floors });
    expect(revision).toBe(store.revision);
    expect([...(objects.get("things")?.list("") ?? [])]).toEqual([...store.list("things")]);
    expect(rows.length).toBeLessThan(20);
    expect(store.position("things", 1)).toBeUndefined();
  });

  test("does not restore deleted objects when a compaction fails and a later one succeeds", async () => {
    const journal = new FakeJournal();
    const store = open(journal, 8);
    journal.uncompactable = true;
    await create(store, "doomed", "1");
    await create(store, "doomed", "2");
    for (let at = 0; at < 12; at += 1) await create(store, "busy", String(at));
    journal.uncompactable = false;
    await remove(store, "doomed");
    for (let at = 0; at < 12; at += 1) await create(store, "busy", String(at));
    const forgotten = new Set(journal.compactions.flatMap(({ revisions }) => revisions));
    const rows = journal.batches.flat().filter(({ revision }) => !forgotten.has(revision));
    expect(forgotten.size).toBeGreaterThan(0);
    expect(rows.some(({ key }) => key === "doomed")).toBe(false);
  });

  test("keeps its revision when all rows have been deleted", () => {
    const { revision } = replay({
      rows: [],
      floors: new Map([
        ["things", 41],
        ["others", 7],
      ]),
    });
    expect(revision).toBe(41);
  });

  test("refuses a write because of another write only when that one is saved", async () => {
    const journal = new FakeJournal();
    const store = open(journal);
    await create(store, "a");
    const removed = remove(store, "a");
    const again = store.write((view) => {
      if (view.get("things", "a") === undefined) throw new Error("not found");
      return { result: undefined };
    });
    let refused = false;
    again.catch(() => {
      refused = true;
    });
    await Promise.resolve();
    await Promise.resolve();
    expect({ refused, saved: journal.batches.length }).toEqual({ refused: false, saved: 1 });
    await expect(again).rejects.toThrow("not found");
    expect(journal.batches.length).toBe(2);
    await removed;
  });

  test("does not refuse a write because of one that could not be saved", async () => {
    const journal = new FakeJournal();
    const store = open(journal);
    await create(store, "a");
    journal.broken = true;
    const removed = remove(store, "a");
    const again = store.write(() => {
      throw new Error("not found");
    });
    await expect(removed).rejects.toThrow("disk full");
    await expect(again).rejects.toThrow("disk full");
    expect(store.get("things", "a")).toBeDefined();
  });

  test("saves accepted writes before it closes, and refuses new ones", async () => {
    const journal = new FakeJournal();
    const store = open(journal);
    const write = create(store, "a");
    await store.close();
    expect(await write).toBe(1);
    expect(journal.batches).toHaveLength(1);
    await expect(create(store, "b")).rejects.toMatchObject({ reason: "ServiceUnavailable" });
  });

  test("notifies only the listeners of resources that changed", async () => {
    const store = open(new FakeJournal());
    const woken: string[] = [];
    store.subscribe("things", () => woken.push("things"));
    store.subscribe("others", () => woken.push("others"));
    const stop = store.subscribe(undefined, () => woken.push("any"));
    await create(store, "a");
    stop();
    await create(store, "b");
    expect(woken).toEqual(["things", "any", "things"]);
  });
});
