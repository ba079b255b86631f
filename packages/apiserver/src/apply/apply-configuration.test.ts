import { describe, expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { conflictError } from "./conflict.ts";
import { objectType } from "./field-type.ts";
import { withoutIdleTimes } from "./idle-times.ts";
import {
  apply,
  conflictsOf,
  later,
  noon,
  ownersOf,
  specOf,
  stored,
  tryApply,
  update,
  v1,
  v2,
  widget,
  widgetSchema,
  widgetStatuses,
  widgets,
} from "./widget.test.support.ts";

/** A configuration without fields. */
const { spec: _spec, ...bare } = widget({});

describe("ownership", () => {
  test("an applier owns the fields that it applies, except those that identify the object", () => {
    const object = apply(undefined, "kubectl", widget({ replicas: 3, labels: { a: "1" } }));
    expect(object).toEqual({
      apiVersion: v1,
      kind: "Widget",
      metadata: {
        name: "w",
        namespace: "default",
        uid: "u-1",
        managedFields: [
          {
            manager: "kubectl",
            operation: "Apply",
            apiVersion: v1,
            time: noon,
            fieldsType: "FieldsV1",
            fieldsV1: { "f:spec": { "f:labels": { "f:a": {} }, "f:replicas": {} } },
          },
        ],
      },
      spec: { replicas: 3, labels: { a: "1" } },
    });
  });

  test("two appliers of the same value share the field", () => {
    const shared = apply(apply(undefined, "a", widget({ replicas: 3 })), "b", widget({ replicas: 3 }));
    expect(ownersOf(shared)).toEqual({
      "a Apply": { "f:spec": { "f:replicas": {} } },
      "b Apply": { "f:spec": { "f:replicas": {} } },
    });
  });

  test("a field loses its old owner when another applier forces it", () => {
    const live = apply(undefined, "a", widget({ replicas: 3, title: "t" }));
    const forced = apply(live, "b", widget({ replicas: 4 }), { force: true });
    expect(specOf(forced)).toEqual({ replicas: 4, title: "t" });
    expect(ownersOf(forced)).toEqual({
      "a Apply": { "f:spec": { "f:title": {} } },
      "b Apply": { "f:spec": { "f:replicas": {} } },
    });
  });

  test("the entry of a manager without fields is removed", () => {
    const live = apply(undefined, "a", widget({ replicas: 3 }));
    expect(ownersOf(apply(live, "b", widget({ replicas: 4 }), { force: true }))).toEqual({
      "b Apply": { "f:spec": { "f:replicas": {} } },
    });
    expect(ownersOf(apply(live, "a", bare))).toEqual({});
  });

  test("fields from before the first apply belong to the manager before-first-apply", () => {
    const live = stored(widget({ replicas: 3 }, { status: { phase: "Up" } }));
    expect(conflictsOf(tryApply(live, "a", widget({ replicas: 4 })))).toEqual(["before-first-apply:f:spec/f:replicas"]);
    expect(ownersOf(apply(live, "a", widget({ title: "t" })))).toEqual({
      "a Apply": { "f:spec": { "f:title": {} } },
      "before-first-apply Update": { "f:spec": { ".": {}, "f:replicas": {} } },
    });
  });

  test("an applier and an updater of the same name have separate entries", () => {
    const live = update(apply(undefined, "a", widget({ replicas: 3 })), "a", widget({ replicas: 3, title: "t" }));
    expect(Object.keys(ownersOf(live))).toEqual(["a Apply", "a Update"]);
  });
});

describe("conflicts", () => {
  const live = update(undefined, "kubectl-client-side-apply", widget({ replicas: 1, title: "t", zones: ["a"] }));

  test("one conflict is reported in one line", () => {
    const applied = tryApply(live, "me", widget({ replicas: 2 }));
    if (!("conflicts" in applied)) throw new Error("expected a conflict");
    const error = conflictError(applied.conflicts);
    expect(error.toStatus()).toEqual({
      apiVersion: "v1",
      kind: "Status",
      metadata: {},
      status: "Failure",
      code: 409,
      reason: "Conflict",
      message:
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using example.org/v1: .spec.replicas',
      details: {
        causes: [
          {
            reason: "FieldManagerConflict",
            message: 'conflict with "kubectl-client-side-apply" using example.org/v1',
            field: ".spec.replicas",
          },
        ],
      },
    });
  });

  test("all conflicts are reported, grouped by owner", () => {
    const other = apply(live, "b", widget({ labels: { a: "1" } }));
    const applied = tryApply(other, "me", widget({ replicas: 2, title: "u", labels: { a: "2" } }));
    if (!("conflicts" in applied)) throw new Error("expected conflicts");
    expect(conflictError(applied.conflicts).message).toBe(
      [
        'Apply failed with 3 conflicts: conflicts with "b":',
        "- .spec.labels.a",
        'conflicts with "kubectl-client-side-apply" using example.org/v1:',
        "- .spec.replicas",
        "- .spec.title",
      ].join("\n"),
    );
  });

  test("the message names the subresource of an owner", () => {
    const up = { ...live, status: { phase: "Up" } };
    const status = update(live, "controller", up, { kind: widgetStatuses, subresource: "status" });
    const how = { kind: widgetStatuses, subresource: "status" };
    const applied = tryApply(status, "me", widget({}, { status: { phase: "Down" } }), how);
    if (!("conflicts" in applied)) throw new Error("expected a conflict");
    expect(conflictError(applied.conflicts).message).toBe(
      'Apply failed with 1 conflict: conflict with "controller" with subresource "status" using example.org/v1: .status.phase',
    );
  });

  test("of thousands of conflicts, the first are listed and the rest are counted", () => {
    const labels = (value: string): object =>
      Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`l${at}`, value]));
    const applied = tryApply(
      apply(undefined, "a", widget({ labels: labels("1") })),
      "b",
      widget({ labels: labels("2") }),
    );
    if (!("conflicts" in applied)) throw new Error("expected conflicts");
    const { message, details } = conflictError(applied.conflicts);
    expect(message).toMatch(/^Apply failed with 1500 conflicts: [\s\S]*\nand 500 more$/);
    expect(details?.causes).toHaveLength(1000);
  });

  test("adding a field, or an item to a set or map of another manager, is not a conflict", () => {
    expect(tryApply(live, "me", widget({ paused: true, zones: ["b"] }))).toHaveProperty("object");
  });

  test("an atomic value is owned as a whole", () => {
    const atomic = apply(undefined, "a", widget({ selector: { a: "1" }, args: ["x"] }));
    expect(conflictsOf(tryApply(atomic, "b", widget({ selector: { b: "1" }, args: ["x", "y"] })))).toEqual([
      "a:f:spec/f:args",
      "a:f:spec/f:selector",
    ]);
  });

  test("a conflict changes nothing", () => {
    const before = structuredClone(live);
    tryApply(live, "me", widget({ replicas: 2 }));
    expect(live).toEqual(before);
  });
});

describe("removal", () => {
  const first = widget({
    replicas: 3,
    labels: { a: "1", b: "2" },
    zones: ["a", "b"],
    containers: [
      { name: "c", image: "i" },
      { name: "d", image: "j" },
    ],
  });

  test("fields that the manager no longer applies, and that nobody else owns, are removed", () => {
    const live = apply(undefined, "a", first);
    const again = apply(live, "a", widget({ labels: { b: "2" }, zones: ["b"], containers: [{ name: "d" }] }));
    expect(specOf(again)).toEqual({ labels: { b: "2" }, zones: ["b"], containers: [{ name: "d" }] });
  });

  test("fields of another applier are kept", () => {
    const live = apply(apply(undefined, "a", first), "b", widget({ replicas: 3, zones: ["a"] }));
    const again = apply(live, "a", widget({ labels: { a: "1", b: "2" } }));
    expect(specOf(again)).toEqual({ replicas: 3, labels: { a: "1", b: "2" }, zones: ["a"] });
    expect(ownersOf(again)["b Apply"]).toEqual({ "f:spec": { "f:replicas": {}, "f:zones": { 'v:"a"': {} } } });
  });

  test("fields of an updater are kept", () => {
    const live = apply(undefined, "a", widget({ containers: [{ name: "c", image: "i" }] }));
    const ported = update(live, "u", {
      ...live,
      spec: { containers: [{ name: "c", image: "i", ports: [{ port: 80, protocol: "TCP" }] }] },
    });
    expect(specOf(apply(ported, "a", widget({ containers: [{ name: "c" }] })))).toEqual({
      containers: [{ name: "c", ports: [{ port: 80, protocol: "TCP" }] }],
    });
  });

  test("a list item is removed with all fields in it that nobody else owns", () => {
    const live = apply(undefined, "a", widget({ containers: [{ name: "c", image: "i" }] }));
    const shared = apply(live, "b", widget({ containers: [{ name: "c", ports: [{ port: 80 }] }] }));
    expect(specOf(apply(shared, "a", widget({})))).toEqual({ containers: [{ name: "c", ports: [{ port: 80 }] }] });
    expect(specOf(apply(apply(shared, "a", bare), "b", bare))).toBeUndefined();
  });

  test("fields without an owner are kept", () => {
    const live = apply(undefined, "a", widget({ replicas: 1 }));
    const unowned = { ...live, spec: { replicas: 1, paused: true } };
    expect(specOf(apply(unowned, "a", widget({})))).toEqual({ paused: true });
  });

  test("a shared field keeps its value and its other owner", () => {
    const live = apply(apply(undefined, "a", widget({ replicas: 3 })), "b", widget({ replicas: 3 }));
    const left = apply(live, "a", bare);
    expect(specOf(left)).toEqual({ replicas: 3 });
    expect(ownersOf(left)).toEqual({ "b Apply": { "f:spec": { "f:replicas": {} } } });
  });

  test("a forged managedFields entry cannot remove the identity of an object", () => {
    const live = apply(undefined, "a", widget({ replicas: 3 }));
    const fieldsV1 = { "f:apiVersion": {}, "f:kind": {}, "f:metadata": { ".": {}, "f:name": {}, "f:uid": {} } };
    const entry = { manager: "a", operation: "Apply", apiVersion: v1, fieldsType: "FieldsV1", fieldsV1 };
    const forged = { ...live, metadata: { ...live.metadata, managedFields: [entry] } } as ApiObject;
    expect(apply(forged, "a", widget({}))).toMatchObject({
      apiVersion: v1,
      kind: "Widget",
      metadata: { name: "w", uid: "u-1" },
    });
  });
});

describe("repetition and times", () => {
  test("applying the same configuration again changes nothing, not even times", () => {
    const live = apply(undefined, "a", widget({ replicas: 3 }));
    expect(apply(live, "a", widget({ replicas: 3 }), { now: later })).toEqual(live);
  });

  test("the time of the entry is updated when the object changes", () => {
    const live = apply(undefined, "a", widget({ replicas: 3 }));
    const changed = apply(live, "a", widget({ replicas: 4 }), { now: later });
    expect(changed.metadata.managedFields?.[0]?.time).toBe(later);
  });

  test("a write that would only change times is not a change", () => {
    const live = apply(undefined, "a", widget({ replicas: 3 }));
    const moved = apply(live, "a", widget({ replicas: 4 }), { now: later });
    const back = { ...moved, spec: { replicas: 3 } };
    expect(withoutIdleTimes(back, live)).toEqual(live);
    expect(withoutIdleTimes(moved, live)).toBe(moved);
    const more = apply(back, "b", widget({ replicas: 3 }));
    expect(withoutIdleTimes(more, live)).toBe(more);
  });

  test("entries are sorted: appliers first, then by time", () => {
    let object = update(undefined, "z", widget({ title: "t" }));
    object = apply(object, "b", widget({ replicas: 1 }), { now: later });
    object = apply(object, "c", widget({ paused: true }));
    object = update(object, "y", { ...object, spec: { title: "u", replicas: 1, paused: true } }, { now: later });
    expect(object.metadata.managedFields?.map(({ manager }) => manager)).toEqual(["c", "b", "z", "y"]);
  });
});

describe("endpoints and versions", () => {
  test("the status is owned only through the status subresource, and nothing else through that", () => {
    const config = widget({ replicas: 1 }, { status: { phase: "Up" } });
    const live = apply(undefined, "a", config);
    expect(ownersOf(live)).toEqual({ "a Apply": { "f:spec": { "f:replicas": {} } } });
    const how = { kind: widgetStatuses, subresource: "status" };
    expect(ownersOf(apply(live, "a", config, how))).toEqual({
      "a Apply": { "f:spec": { "f:replicas": {} } },
      "a Apply status": { "f:status": { "f:phase": {} } },
    });
  });

  test("an applier that changes its version keeps the fields that it applied in the old one", () => {
    const live = apply(undefined, "a", widget({ replicas: 1, title: "t" }));
    const again = apply({ ...live, apiVersion: v2 }, "a", { ...widget({ title: "t" }), apiVersion: v2 });
    expect(specOf(again)).toEqual({ title: "t" });
    expect(again.metadata.managedFields).toMatchObject([{ manager: "a", apiVersion: v2 }]);
  });

  test("conflicts are found in the version of the owner", () => {
    const renamed = { ...widgets, convert: renaming };
    const live = apply(undefined, "a", widget({ title: "t" }), { kind: renamed });
    const config = { ...widget({ free: { caption: "u" } }), apiVersion: v2 };
    const current = renaming(live, v2) as ApiObject;
    expect(conflictsOf(tryApply(current, "b", config, { kind: renamed }))).toEqual(["a:f:spec/f:title"]);
  });

  test("an entry of a version that no longer exists is dropped", () => {
    const live = apply(undefined, "a", widget({ replicas: 1 }));
    const entry = { ...live.metadata.managedFields?.[0], apiVersion: "example.org/v0" };
    const old = { ...live, metadata: { ...live.metadata, managedFields: [entry] } };
    const applied = apply(old, "b", widget({ replicas: 2 }));
    expect(ownersOf(applied)).toEqual({ "b Apply": { "f:spec": { "f:replicas": {} } } });
  });

  test("owners of a part of a field that became atomic own the whole field", () => {
    const granular = apply(undefined, "a", widget({ labels: { a: "1" }, zones: ["x"] }));
    const spec = widgetSchema.properties?.["spec"]?.properties ?? {};
    const labels = { ...spec["labels"], "x-kubernetes-map-type": "atomic" };
    const zones = { ...spec["zones"], "x-kubernetes-list-type": "atomic" };
    const schema = { type: "object", properties: { spec: { type: "object", properties: { ...spec, labels, zones } } } };
    const kind = { ...widgets, type: () => objectType(schema) };
    expect(conflictsOf(tryApply(granular, "b", widget({ labels: { b: "2" }, zones: ["y"] }), { kind }))).toEqual([
      "a:f:spec/f:labels",
      "a:f:spec/f:zones",
    ]);
  });
});

/** Version 2 renames `title` to `caption`. */
function renaming(object: ApiObject, apiVersion: string): ApiObject | undefined {
  if (object.apiVersion === apiVersion) return object;
  const spec = object["spec"] as { title?: string; free?: { caption?: string } };
  const renamed = apiVersion === v2 ? { free: { caption: spec.title } } : { title: spec.free?.caption };
  return { ...object, apiVersion, spec: renamed };
}

describe("applyConfiguration() refuses", () => {
  test.for<[string, object, RegExp]>([
    [
      "a field of another type",
      { replicas: "3" },
      /^failed to create typed patch object \(default\/w; example.org\/v1, Kind=Widget\): .spec.replicas: expected numeric/,
    ],
    ["an unknown field", { other: 1 }, /: .spec.other: field not declared in schema$/],
    ["a duplicate item", { zones: ["a", "a"] }, /duplicate entries for key \[="a"\]$/],
    ["an item without its key", { containers: [{ image: "i" }] }, /omits all key fields \["name"\]/],
  ])("%s", ([, spec, problem]) => {
    expect(tryApply(undefined, "a", widget(spec))).toEqual({ problem: expect.stringMatching(problem) });
  });

  test("a configuration with managedFields", () => {
    const config = widget({});
    const owned = { ...config, metadata: { ...config.metadata, managedFields: [] } };
    expect(tryApply(undefined, "a", owned)).toEqual({ problem: "metadata.managedFields must be nil" });
  });

  test("a configuration for an object with invalid managedFields", () => {
    const live = stored(widget({}));
    const broken = { ...live, metadata: { ...live.metadata, managedFields: [{ operation: "Steal" }] } } as ApiObject;
    expect(tryApply(broken, "a", widget({}))).toEqual({
      problem: "failed to decode managed fields: operation must be `Apply` or `Update`",
    });
  });
});
