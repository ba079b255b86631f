import { expect, test } from "vitest";
import { maxUpdaters, withBoundedUpdaters } from "./ancient-changes.ts";
import { encodeFields } from "./fields-v1.ts";
import { entryId, type ManagedEntry, type ManagedTable } from "./managed-table.ts";
import { fields, ownersOf, update, v1, v2, widget } from "./widget.test.support.ts";

const updater = (at: number, apiVersion = v1): ManagedEntry => ({
  manager: `u${at}`,
  operation: "Update",
  apiVersion,
  subresource: "",
  time: new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString(),
  fields: fields(`f${at}`),
});
const tableOf = (entries: readonly ManagedEntry[]): ManagedTable =>
  new Map(entries.map((each) => [entryId(each), each]));
const listed = (table: ManagedTable): Record<string, unknown> =>
  Object.fromEntries(
    [...table.values()].map((each) => [`${each.manager} ${each.apiVersion}`, encodeFields(each.fields)]),
  );

test("every updater has its own entry up to the limit", () => {
  const table = tableOf(Array.from({ length: maxUpdaters }, (_, at) => updater(at)));
  expect(withBoundedUpdaters(table)).toBe(table);
});

test("beyond the limit, the oldest entries are merged into one", () => {
  const entries = Array.from({ length: maxUpdaters + 2 }, (_, at) => updater(at));
  const bounded = withBoundedUpdaters(tableOf(entries.toReversed()));
  expect(bounded.size).toBe(maxUpdaters);
  expect(listed(bounded)["ancient-changes example.org/v1"]).toEqual({ "f:f0": {}, "f:f1": {}, "f:f2": {} });
  const again = withBoundedUpdaters(new Map(bounded).set("late", updater(99)));
  expect(again.size).toBe(maxUpdaters);
  expect(listed(again)["ancient-changes example.org/v1"]).toEqual({ "f:f0": {}, "f:f1": {}, "f:f2": {}, "f:f3": {} });
});

test("entries of different versions are not merged", () => {
  const entries = Array.from({ length: maxUpdaters + 2 }, (_, at) => updater(at, at % 2 === 0 ? v1 : v2));
  const bounded = withBoundedUpdaters(tableOf(entries));
  expect(bounded.size).toBe(maxUpdaters);
  expect(listed(bounded)["ancient-changes example.org/v1"]).toEqual({ "f:f0": {}, "f:f2": {} });
  expect(listed(bounded)["ancient-changes example.org/v2"]).toEqual({ "f:f1": {}, "f:f3": {} });
});

test("a merged entry that is among the oldest itself is merged with the entry before it", () => {
  const bucket = { ...updater(1), manager: "ancient-changes" };
  const entries = [updater(0), bucket, ...Array.from({ length: maxUpdaters - 1 }, (_, at) => updater(at + 2))];
  const bounded = withBoundedUpdaters(tableOf(entries));
  expect(bounded.size).toBe(maxUpdaters);
  expect(listed(bounded)["ancient-changes example.org/v1"]).toEqual({ "f:f0": {}, "f:f1": {} });
});

test("the number of entries of an object is bounded, however many managers write to it", () => {
  let object = update(undefined, "m0", widget({ free: {} }));
  for (let at = 1; at <= 30; at += 1) {
    const free = { ...(object["spec"] as { free: object }).free, [`k${at}`]: at };
    object = update(object, `m${at}`, { ...object, spec: { free } });
  }
  expect(object.metadata.managedFields).toHaveLength(maxUpdaters);
  expect(ownersOf(object)).toHaveProperty("ancient-changes Update");
});
