import { describe, expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import {
  apply,
  later,
  noon,
  ownersOf,
  stored,
  update,
  v1,
  v2,
  widget,
  widgetStatuses,
  widgets,
} from "./widget.test.support.ts";

describe("recordUpdate()", () => {
  test("the creator owns all fields that it wrote", () => {
    const object = update(undefined, "curl", widget({ replicas: 1, labels: { a: "1" } }, { status: { phase: "Up" } }));
    expect(object.metadata.managedFields).toEqual([
      {
        manager: "curl",
        operation: "Update",
        apiVersion: v1,
        time: noon,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:spec": { ".": {}, "f:labels": { ".": {}, "f:a": {} }, "f:replicas": {} } },
      },
    ]);
  });

  test("the creator does not own members that every object of a built-in kind has", () => {
    const kind = { ...widgets, zeroObject: () => ({ spec: { labels: null } }) };
    expect(ownersOf(update(undefined, "curl", widget({ labels: { a: "1" } }), { kind }))).toEqual({
      "curl Update": { "f:spec": { "f:labels": { "f:a": {} } } },
    });
  });

  test("an updater becomes the owner of the fields that it changes, without conflicts", () => {
    const live = apply(undefined, "a", widget({ replicas: 1, title: "t" }));
    const object = update(live, "u", { ...live, spec: { replicas: 2, title: "t" } }, { now: later });
    expect(ownersOf(object)).toEqual({
      "a Apply": { "f:spec": { "f:title": {} } },
      "u Update": { "f:spec": { "f:replicas": {} } },
    });
    expect(object.metadata.managedFields?.map(({ time }) => time)).toEqual([noon, later]);
  });

  test("writing the same value changes neither owners nor times", () => {
    const live = apply(undefined, "a", widget({ replicas: 1 }));
    expect(update(live, "u", live, { now: later })).toEqual(live);
  });

  test("a removed field has no owner", () => {
    const live = apply(undefined, "a", widget({ replicas: 1, zones: ["x", "y"] }));
    expect(ownersOf(update(live, "u", { ...live, spec: { zones: ["y"] } }))).toEqual({
      "a Apply": { "f:spec": { "f:zones": { 'v:"y"': {} } } },
    });
  });

  test("the fields of an updater accumulate for each version", () => {
    let object = update(undefined, "u", widget({ replicas: 1 }));
    object = update(object, "u", { ...object, spec: { replicas: 1, title: "t" } }, { now: later });
    const next = { ...object, apiVersion: v2, spec: { replicas: 1, title: "t", paused: true } };
    object = update({ ...object, apiVersion: v2 }, "u", next);
    expect(object.metadata.managedFields).toMatchObject([
      { apiVersion: v2, fieldsV1: { "f:spec": { "f:paused": {} } } },
      { apiVersion: v1, time: later, fieldsV1: { "f:spec": { ".": {}, "f:replicas": {}, "f:title": {} } } },
    ]);
  });

  test("a writer without a name is recorded as unknown", () => {
    expect(Object.keys(ownersOf(update(undefined, "", widget({ replicas: 1 }))))).toEqual(["unknown Update"]);
  });

  test("writes to the status have a separate entry", () => {
    const live = update(undefined, "u", widget({ replicas: 1 }));
    const how = { kind: widgetStatuses, subresource: "status" };
    const object = update(live, "u", { ...live, spec: { replicas: 9 }, status: { phase: "Up" } }, how);
    expect(ownersOf(object)).toEqual({
      "u Update": { "f:spec": { ".": {}, "f:replicas": {} } },
      "u Update status": { "f:status": { ".": {}, "f:phase": {} } },
    });
  });

  test("an object without managedFields gets none by an update", () => {
    const live = stored(widget({ replicas: 1 }));
    expect(update(live, "u", { ...live, spec: { replicas: 2 } }).metadata.managedFields).toBeUndefined();
  });

  test("an object that does not match its schema loses its entries, but is written", () => {
    const live = apply(undefined, "a", widget({ replicas: 1 }));
    const object = update(live, "u", { ...live, spec: { containers: [{ image: "keyless" }] } });
    expect(object["spec"]).toEqual({ containers: [{ image: "keyless" }] });
    expect(object.metadata.managedFields).toBeUndefined();
  });
});

describe("managedFields written by a client", () => {
  const live = apply(undefined, "a", widget({ replicas: 1 }));
  const withEntries = (managedFields: unknown): ApiObject =>
    ({ ...live, metadata: { ...live.metadata, managedFields } }) as ApiObject;

  test.for([
    ["an empty list", []],
    ["one empty entry", [{}]],
  ])("are reset by %s", ([, entries]) => {
    expect(update(live, "u", withEntries(entries)).metadata.managedFields).toBeUndefined();
  });

  test.for([
    ["are missing", undefined],
    ["are not a list", "all"],
    ["have an unknown operation", [{ manager: "x", operation: "Steal", apiVersion: v1, fieldsType: "FieldsV1" }]],
    ["have no version", [{ manager: "x", operation: "Update", fieldsType: "FieldsV1" }]],
    ["have no type", [{ manager: "x", operation: "Update", apiVersion: v1 }]],
    ["have another type", [{ manager: "x", operation: "Update", apiVersion: v1, fieldsType: "FieldsV2" }]],
    [
      "have invalid fields",
      [{ manager: "x", operation: "Update", apiVersion: v1, fieldsType: "FieldsV1", fieldsV1: { x: 1 } }],
    ],
    ["have a null entry", [null]],
  ])("are ignored if they %s", ([, entries]) => {
    expect(update(live, "u", withEntries(entries))).toEqual(live);
  });

  test("are used if they are valid", () => {
    const entry = {
      manager: "x",
      operation: "Update",
      apiVersion: v1,
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": {} },
    };
    expect(ownersOf(update(live, "u", withEntries([entry])))).toEqual({ "x Update": { "f:spec": {} } });
  });

  test("are ignored in a write to a subresource", () => {
    const how = { kind: widgetStatuses, subresource: "status" };
    expect(update(live, "u", withEntries([]), how)).toEqual(live);
  });
});
