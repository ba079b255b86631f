import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Layout, layoutOf, podPaths } from "../layout.ts";
import { type PodRecord, podRecords } from "./record.ts";

let folder: string;
let layout: Layout;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-"));
  layout = layoutOf(folder);
});
afterAll(() => rm(folder, { recursive: true }));

const recordOf = (uid: string): PodRecord => ({
  version: 1,
  uid,
  namespace: "a",
  name: "b",
  address: "10.0.0.2",
  startTime: 0,
  prepared: false,
  containers: {},
});

test("a record can be read by this process and by the next", async () => {
  const records = podRecords(layout);
  await records.create(recordOf("u1"));
  await records.sync("u1");
  await records.write({ ...recordOf("u1"), prepared: true });
  for (const reader of [records, podRecords(layout)]) {
    expect([...(await reader.list())]).toEqual([["u1", { ...recordOf("u1"), prepared: true }]]);
  }
  await records.remove("u1");
  expect([await records.read("u1"), (await records.list()).size]).toEqual([undefined, 0]);
});

test("a failed write leaves the record on the disk", async () => {
  const records = podRecords(layout);
  await records.create(recordOf("u2"));
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const bad = { ...recordOf("u2"), prepared: true, volumes: circular } as unknown as PodRecord;
  await expect(records.write(bad)).rejects.toThrow(/circular/i);
  expect(await records.read("u2")).toEqual(recordOf("u2"));
  await records.remove("u2");
});

test("a folder without a valid record of its Pod is listed without record", async () => {
  const records = podRecords(layout);
  await records.create(recordOf("u3"));
  await writeFile(podPaths(layout, "u3").record, JSON.stringify(recordOf("u4")));
  expect([...(await podRecords(layout).list())]).toEqual([["u3", undefined]]);
  await records.remove("u3");
});

test("a saved Pod is found by its Sandbox until it is removed", async () => {
  const records = podRecords(layout);
  const saved = { ...recordOf("u5"), keptFor: "s1", save: { step: "saved", epoch: 0, sizeBytes: 1 } } as const;
  await records.create(saved);
  expect(records.savedFor("s1")).toBeUndefined();
  await records.write({ ...saved, save: { ...saved.save, step: "ended" } });
  expect([records.savedFor("s1"), records.savedFor("s2")]).toEqual(["u5", undefined]);
  await records.remove("u5");
  expect(records.savedFor("s1")).toBeUndefined();
});
