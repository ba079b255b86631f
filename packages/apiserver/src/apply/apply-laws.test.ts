import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { hasField } from "./field-set.ts";
import { decodeManagedFields } from "./managed-table.ts";
import { apply, later, ownersOf, specOf, stored, tryApply, update, widget } from "./widget.test.support.ts";

/** Half the default, because each run creates many objects. */
const numRuns = 50;

interface Palette {
  readonly scalars: readonly string[];
  readonly atoms: readonly string[];
  /** Names of labels, zones, containers and volumes. */
  readonly names: readonly string[];
}

const everything: Palette = { scalars: ["title", "paused"], atoms: ["args", "selector"], names: ["a", "b", "c"] };
/** Managers with these two palettes never apply the same field. */
const ours: Palette = { scalars: ["title"], atoms: ["args"], names: ["a", "b"] };
const theirs: Palette = { scalars: ["paused"], atoms: ["selector"], names: ["x", "y"] };

const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  title: fc.constantFrom("t", "u"),
  paused: fc.boolean(),
  args: fc.array(fc.constantFrom("1", "2"), { maxLength: 3 }),
  selector: fc.dictionary(fc.constantFrom("k", "l"), fc.constantFrom("1", "2")),
};

function specs({ scalars, atoms, names }: Palette): fc.Arbitrary<object> {
  const some = fc.subarray([...names], { minLength: 1 });
  const image = fc.constantFrom("1", "2");
  const port = fc.record({ port: fc.constantFrom(80, 81), protocol: fc.constantFrom("TCP", "UDP") });
  const ports = fc.uniqueArray(port, { maxLength: 3, selector: (each) => JSON.stringify(each) });
  const container = (name: string): fc.Arbitrary<object> =>
    fc.record({ name: fc.constant(name), image, ports }, { requiredKeys: ["name"] });
  const fields = {
    ...Object.fromEntries([...scalars, ...atoms].map((name) => [name, values[name] ?? fc.constant(0)])),
    labels: some.chain((keys) => fc.record(Object.fromEntries(keys.map((key) => [key, image])))),
    zones: some.chain((zones) => fc.shuffledSubarray(zones, { minLength: zones.length })),
    containers: some.chain((all) => fc.tuple(...all.map(container))),
  };
  return fc.record(fields, { requiredKeys: [] }).filter((spec) => Object.keys(spec).length > 0);
}

const bare = (): ApiObject => {
  const { spec: _spec, ...rest } = widget({});
  return rest;
};

/** The spec and owners of an object, for comparisons that ignore the order of members and entries. */
const meaning = (object: ApiObject): unknown => ({ spec: specOf(object), owners: ownersOf(object) });

test("applying the same configuration twice changes nothing the second time", () => {
  fc.assert(
    fc.property(specs(everything), specs(everything), (first, second) => {
      const live = apply(apply(undefined, "a", widget(first)), "b", widget(second), { force: true });
      expect(apply(live, "b", widget(second), { now: later })).toEqual(live);
    }),
    { numRuns },
  );
});

test("the order of two applies of different fields does not matter", () => {
  fc.assert(
    fc.property(specs(ours), specs(theirs), (one, other) => {
      const left = apply(apply(undefined, "a", widget(one)), "b", widget(other));
      const right = apply(apply(undefined, "b", widget(other)), "a", widget(one));
      expect(sortLists(meaning(left))).toEqual(sortLists(meaning(right)));
    }),
    { numRuns },
  );
});

/** Sorts lists, because the order of their items depends on the order of the applies. */
function sortLists(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sortLists).sort((left, right) => JSON.stringify(left).localeCompare(JSON.stringify(right)));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, sortLists(member)]));
}

test("after a forced conflict, only the manager that forced it owns the field", () => {
  fc.assert(
    fc.property(specs(everything), specs(everything), specs(everything), (one, other, third) => {
      const shared = apply(apply(undefined, "a", widget(one)), "b", widget(other), { force: true });
      const attempt = tryApply(shared, "c", widget(third));
      if (!("conflicts" in attempt)) return;
      const decoded = decodeManagedFields(apply(shared, "c", widget(third), { force: true }).metadata.managedFields);
      if ("problem" in decoded) throw new Error(decoded.problem);
      for (const { path } of attempt.conflicts) {
        const owners = [...decoded.table.values()].filter(({ fields }) => hasField(fields, path));
        expect(owners.map(({ manager }) => manager)).toEqual(["c"]);
      }
    }),
    { numRuns },
  );
});

test("applying an empty configuration removes all fields that only this manager owns", () => {
  fc.assert(
    fc.property(specs(ours), specs(theirs), fc.boolean(), (base, config, applied) => {
      const live = applied ? apply(undefined, "a", widget(base)) : update(undefined, "a", widget(base));
      const changed = apply(live, "b", widget(config));
      expect(apply(changed, "b", bare())).toEqual(live);
    }),
    { numRuns },
  );
});

test("after an apply, the object has all fields of the configuration, and the manager owns them", () => {
  fc.assert(
    fc.property(specs(everything), specs(everything), (live, config) => {
      const object = apply(update(undefined, "u", widget(live)), "a", widget(config), { force: true });
      expect(specOf(apply(stored(widget(specOf(object) as object)), "z", widget(config)))).toEqual(specOf(object));
      expect(ownersOf(object)["a Apply"]).toEqual(ownersOf(apply(undefined, "a", widget(config)))["a Apply"]);
    }),
    { numRuns },
  );
});
