import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { Interner } from "../interner.ts";
import { decodeManagedFields, withManagedFields } from "./managed-table.ts";
import { recordUpdate, type Update, updatedTable } from "./record-update.ts";
import { apply, later, update, v2, widget, widgets } from "./widget.test.support.ts";

const interner = new Interner();

/** The same update with every entry decoded and encoded again. */
function thorough(write: Update): ApiObject {
  const decoded = decodeManagedFields(write.live?.metadata.managedFields);
  if ("problem" in decoded) throw new Error(decoded.problem);
  return withManagedFields(write.next, updatedTable(write, decoded.table));
}

const spec = fc.record(
  {
    title: fc.constantFrom("t", "u"),
    replicas: fc.constantFrom(1, 2),
    args: fc.constantFrom(["1"], ["2"]),
    labels: fc.record({ a: fc.constantFrom("1", "2"), b: fc.constantFrom("1", "2") }, { requiredKeys: ["a"] }),
    containers: fc.constantFrom(
      [{ name: "x", image: "1" }],
      [{ name: "x", image: "2" }],
      [{ name: "x", image: "1" }, { name: "a" }],
      [{ name: "b", image: "1" }, { name: "y" }],
    ),
  },
  { requiredKeys: ["title", "labels"] },
);

test("an update gives the same entries as decoding and encoding all of them", () => {
  fc.assert(
    fc.property(spec, spec, spec, fc.constantFrom("a", "b", "c"), (first, second, third, manager) => {
      const created = update(undefined, "a", widget(first));
      const live = update(created, "b", { ...created, spec: second });
      const write = { kind: widgets, manager, now: later, live, next: { ...live, spec: third } };
      const recorded = recordUpdate(write, interner);
      expect(recorded).toEqual(thorough(write));
      expect(recordUpdate({ ...write, next: interner.internSpec(write.next) }, interner)).toEqual(recorded);
      // Equal sets are equal bytes.
      expect(JSON.stringify(recorded.metadata.managedFields)).toBe(
        JSON.stringify(thorough(write).metadata.managedFields),
      );
    }),
    { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 300) },
  );
});

test("does not touch the entries of other managers when a manager changes its own fields", () => {
  const applied = apply(undefined, "a", widget({ title: "t" }));
  const live = update(applied, "b", { ...applied, spec: { title: "t", replicas: 1 } });
  const object = update(live, "b", { ...live, spec: { title: "t", replicas: 2 } }, { now: later });
  expect(object.metadata.managedFields?.[0]).toBe(live.metadata.managedFields?.[0]);
  expect(object.metadata.managedFields?.[1]).toEqual({ ...live.metadata.managedFields?.[1], time: later });
});

test("handles entries of other versions", () => {
  const created = update(undefined, "a", widget({ title: "t" }));
  const live = update({ ...created, apiVersion: v2 }, "b", {
    ...created,
    apiVersion: v2,
    spec: { title: "t", replicas: 1 },
  });
  const next = { ...live, spec: { title: "u", replicas: 2 } };
  const write = { kind: widgets, manager: "b", now: later, live, next };
  expect(recordUpdate(write, interner)).toEqual(thorough(write));
});
