import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { Interner } from "../interner.ts";
import { createdFields, unusual } from "./created-fields.ts";
import { objectType } from "./field-type.ts";
import { withManagedFields } from "./managed-table.ts";
import { skippedBy } from "./never-owned.ts";
import { recordUpdate, type Update, updatedTable } from "./record-update.ts";
import { fields, noon, widget, widgetSchema, widgets } from "./widget.test.support.ts";

/** The owners by comparison with the empty object, which defines the correct result. */
const compared = (write: Update): ApiObject => withManagedFields(write.next, updatedTable(write, new Map()));

const name = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom("a", "b", "c", "d", "é", "constructor", "0", ".") },
  { weight: 1, arbitrary: fc.constantFrom("\u{1f600}", "\uffff", "__proto__") },
);
const anything = fc.oneof(fc.constantFrom(null, "", "x", 0, 1.5, true), fc.jsonValue({ maxDepth: 2 }));
const mostly = <T>(good: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 80, arbitrary: good }, { weight: 1, arbitrary: anything });
const texts = fc.dictionary(name, mostly(fc.constantFrom("1", "2")), { maxKeys: 3 });
const port = fc.record(
  { port: mostly(fc.constantFrom(80, 81)), protocol: fc.constantFrom("TCP", "UDP"), hostPort: mostly(fc.nat()) },
  { requiredKeys: ["port"] },
);
const container = fc.record(
  { name: mostly(name), image: mostly(name), ports: mostly(fc.array(port, { maxLength: 2 })) },
  { requiredKeys: ["name"] },
);
const spec = fc.record(
  {
    replicas: mostly(fc.nat()),
    title: mostly(name),
    paused: mostly(fc.boolean()),
    size: mostly(fc.oneof(fc.nat(), name)),
    labels: mostly(texts),
    selector: mostly(texts),
    args: mostly(fc.array(name, { maxLength: 3 })),
    zones: mostly(fc.uniqueArray(name, { maxLength: 3 })),
    containers: mostly(fc.array(container, { maxLength: 3 })),
    volumes: mostly(fc.array(fc.record({ name, path: mostly(name) }), { maxLength: 3 })),
    free: mostly(fc.dictionary(name, mostly(texts), { maxKeys: 3 })),
    template: mostly(
      fc.record(
        { metadata: fc.record({ labels: texts }), spec: mostly(fc.record({ image: name })) },
        { requiredKeys: [] },
      ),
    ),
  },
  { requiredKeys: [] },
);
const zero = fc.constantFrom<object>(
  {},
  { spec: {} },
  { spec: { labels: {}, template: { spec: {} } } },
  { spec: { labels: null, containers: null, zones: null, free: null } },
  { status: {} },
);

test("the creator of an object owns the fields that a comparison with the empty object finds", () => {
  // As in production: interned values are not frozen.
  const interner = new Interner();
  let direct = 0;
  fc.assert(
    fc.property(mostly(spec), texts, mostly(texts), zero, (given, labels, status, empty) => {
      const next = widget(given as object, {
        status,
        metadata: { name: "w", namespace: "n", uid: "u", generation: 1, labels, finalizers: ["b", "a"] },
      });
      const kind = { ...widgets, zeroObject: () => empty as Record<string, unknown> };
      const write: Update = { kind, manager: "m", now: noon, live: undefined, next };
      const expected = JSON.stringify(compared(write));
      expect(JSON.stringify(recordUpdate(write, interner))).toBe(expected);
      const interned = { ...write, next: interner.internSpec(next) };
      expect(JSON.stringify(recordUpdate(interned, interner))).toBe(expected);
      // The second time, the fields of the spec are known.
      expect(JSON.stringify(recordUpdate(interned, interner))).toBe(expected);
      const skip = skippedBy(fields("status")) ?? {};
      const type = objectType(widgetSchema);
      const found = createdFields(next, { type, before: { metadata: {}, ...empty }, skip, interner });
      if (found !== unusual) direct += 1;
    }),
    { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 500) },
  );
  // Otherwise the comparison would only have been compared with itself.
  expect(direct).toBeGreaterThan(50);
});
