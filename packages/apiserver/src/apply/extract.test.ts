import { describe, expect, test } from "vitest";
import { fieldsOf } from "./extract.ts";
import { deducedType, objectType } from "./field-type.ts";
import { encodeFields } from "./fields-v1.ts";
import { widgetSchema } from "./widget.test.support.ts";

const type = objectType(widgetSchema);
const specFields = (spec: unknown): unknown => encodeFields(fieldsOf({ spec }, type))["f:spec"];

describe("fieldsOf()", () => {
  test.for<[string, unknown, unknown]>([
    [
      "scalars are owned",
      { replicas: 1, paused: false, title: "x" },
      { "f:paused": {}, "f:replicas": {}, "f:title": {} },
    ],
    ["null is owned", { replicas: null, labels: null }, { "f:labels": {}, "f:replicas": {} }],
    ["an int-or-string is owned", { size: "5%" }, { "f:size": {} }],
    [
      "members of a granular map are owned individually",
      { labels: { a: "1", b: "2" } },
      { "f:labels": { "f:a": {}, "f:b": {} } },
    ],
    ["an empty map is owned", { labels: {} }, { "f:labels": {} }],
    ["an atomic map is owned as a whole", { selector: { a: "1" } }, { "f:selector": {} }],
    ["a list without a type is owned as a whole", { args: ["a", "b"] }, { "f:args": {} }],
    ["an empty list of items is not owned", { zones: [], containers: [] }, undefined],
    ["members of a set are owned individually", { zones: ["b", "a"] }, { "f:zones": { 'v:"a"': {}, 'v:"b"': {} } }],
    [
      "items of a keyed list are owned with their keys",
      { containers: [{ name: "c", image: "i" }] },
      { "f:containers": { 'k:{"name":"c"}': { ".": {}, "f:image": {}, "f:name": {} } } },
    ],
    [
      "a missing key has its default",
      { containers: [{ name: "c", ports: [{ port: 80 }] }] },
      {
        "f:containers": {
          'k:{"name":"c"}': {
            ".": {},
            "f:name": {},
            "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} } },
          },
        },
      },
    ],
    [
      "a list without a list type is keyed by its merge key",
      { volumes: [{ name: "v" }] },
      { "f:volumes": { 'k:{"name":"v"}': { ".": {}, "f:name": {} } } },
    ],
    [
      "duplicate items are owned as one",
      { containers: [{ name: "c", image: "i" }, { name: "c" }] },
      { "f:containers": { 'k:{"name":"c"}': {} } },
    ],
    [
      "without a schema, objects are owned by member and lists as a whole",
      { free: { a: { b: 1 }, c: [{ d: 1 }] } },
      { "f:free": { "f:a": { ".": {}, "f:b": {} }, "f:c": {} } },
    ],
    [
      "an embedded object has its own metadata",
      { template: { metadata: { labels: { a: "1" }, finalizers: ["f"] }, spec: { image: "i" } } },
      {
        "f:template": {
          "f:metadata": { "f:finalizers": { 'v:"f"': {} }, "f:labels": { "f:a": {} } },
          "f:spec": { "f:image": {} },
        },
      },
    ],
  ])("%s", ([, spec, expected]) => {
    expect(specFields(spec)).toEqual(expected);
  });

  test("metadata is owned in the same way for every kind", () => {
    const metadata = {
      name: "w",
      labels: { a: "1" },
      finalizers: ["f"],
      ownerReferences: [{ apiVersion: "v1", kind: "K", name: "o", uid: "u" }],
    };
    expect(encodeFields(fieldsOf({ metadata }, type))).toEqual({
      "f:metadata": {
        "f:finalizers": { 'v:"f"': {} },
        "f:labels": { "f:a": {} },
        "f:name": {},
        "f:ownerReferences": { 'k:{"uid":"u"}': {} },
      },
    });
  });

  test("a kind without a schema is owned by member", () => {
    const object = { spec: { list: [1], map: { a: { b: 1 }, c: {} } } };
    expect(encodeFields(fieldsOf(object, deducedType))).toEqual({
      "f:spec": { ".": {}, "f:list": {}, "f:map": { ".": {}, "f:a": { ".": {}, "f:b": {} }, "f:c": {} } },
    });
  });

  test("a member called __proto__ is a member", () => {
    const object: unknown = JSON.parse('{"spec":{"free":{"__proto__":{"polluted":1}}}}');
    expect(JSON.stringify(encodeFields(fieldsOf(object, type)))).toBe(
      '{"f:spec":{"f:free":{"f:__proto__":{".":{},"f:polluted":{}}}}}',
    );
    expect({}).not.toHaveProperty("polluted");
  });
});
