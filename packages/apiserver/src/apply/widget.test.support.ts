import type { ApiObject } from "../api-object.ts";
import { Interner } from "../interner.ts";
import { type Applied, applyConfiguration } from "./apply-configuration.ts";
import { type FieldSet, fieldSetOf } from "./field-set.ts";
import { type FieldType, objectType } from "./field-type.ts";
import { encodeFields } from "./fields-v1.ts";
import { decodeManagedFields } from "./managed-table.ts";
import type { MergeSchema } from "./merge-schema.ts";
import { field } from "./path-element.ts";
import { recordUpdate } from "./record-update.ts";
import type { KindVersions } from "./versioned.ts";

const text: MergeSchema = { type: "string" };
const integer: MergeSchema = { type: "integer" };

/** The schema of a kind with every kind of field. */
export const widgetSchema: MergeSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        replicas: integer,
        title: text,
        paused: { type: "boolean" },
        size: { "x-kubernetes-int-or-string": true } as MergeSchema,
        labels: { type: "object", additionalProperties: text },
        selector: { type: "object", additionalProperties: text, "x-kubernetes-map-type": "atomic" },
        args: { type: "array", items: text },
        zones: { type: "array", items: text, "x-kubernetes-list-type": "set" },
        weights: { type: "array", items: integer, "x-kubernetes-list-type": "set" },
        containers: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            properties: {
              name: text,
              image: text,
              ports: {
                type: "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"],
                items: {
                  type: "object",
                  properties: { port: integer, protocol: { ...text, default: "TCP" }, hostPort: integer },
                },
              },
            },
          },
        },
        volumes: {
          type: "array",
          "x-kubernetes-patch-strategy": "merge,retainKeys",
          "x-kubernetes-patch-merge-key": "name",
          items: { type: "object", properties: { name: text, path: text } },
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        template: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          properties: { spec: { type: "object", properties: { image: text } } },
        },
      },
    },
    status: { type: "object", properties: { phase: text, ready: integer } },
  },
};

export const v1 = "example.org/v1";
export const v2 = "example.org/v2";
export const noon = "2026-03-01T12:00:00Z";
export const later = "2026-03-01T13:00:00Z";

export const fields = (...paths: readonly string[]): FieldSet =>
  fieldSetOf(paths.map((path) => path.split(".").map(field)));

export const widgetType: FieldType = objectType(widgetSchema);

/** A kind with two versions that differ only in their name. */
export const widgets: KindVersions = {
  convert: (object, apiVersion) => ([v1, v2].includes(apiVersion) ? { ...object, apiVersion } : undefined),
  type: () => widgetType,
  resetFields: () => fields("status"),
};

export const widgetStatuses: KindVersions = { ...widgets, resetFields: () => fields("metadata", "spec") };

export function widget(spec: object, more: object = {}): ApiObject {
  return { apiVersion: v1, kind: "Widget", metadata: { name: "w", namespace: "default" }, spec, ...more };
}

/** The object with a UID, as after it is stored. */
export const stored = (object: ApiObject): ApiObject => ({ ...object, metadata: { ...object.metadata, uid: "u-1" } });

export interface How {
  readonly force?: boolean;
  readonly now?: string;
  readonly kind?: KindVersions;
  readonly subresource?: string;
}

export function tryApply(live: ApiObject | undefined, manager: string, config: ApiObject, how: How = {}): Applied {
  const { force = false, now = noon, kind = widgets, subresource } = how;
  return applyConfiguration({ kind, manager, subresource, now, live, config, force });
}

/** Applies a configuration. Throws on a conflict. */
export function apply(live: ApiObject | undefined, manager: string, config: ApiObject, how: How = {}): ApiObject {
  const applied = tryApply(live, manager, config, how);
  if (!("object" in applied)) throw new Error(`Cannot apply: ${JSON.stringify(applied)}`);
  return stored(applied.object);
}

export function update(live: ApiObject | undefined, manager: string, next: ApiObject, how: How = {}): ApiObject {
  const { now = noon, kind = widgets, subresource } = how;
  return stored(recordUpdate({ kind, manager, subresource, now, live, next }, new Interner()));
}

export const specOf = (object: ApiObject): unknown => object["spec"];

/** The owned fields by `manager operation [subresource]`. */
export function ownersOf(object: ApiObject): Record<string, unknown> {
  const decoded = decodeManagedFields(object.metadata.managedFields);
  if ("problem" in decoded) throw new Error(decoded.problem);
  return Object.fromEntries(
    [...decoded.table.values()].map(({ manager, operation, subresource, fields }) => [
      [manager, operation, subresource].join(" ").trim(),
      encodeFields(fields),
    ]),
  );
}

export function conflictsOf(applied: Applied): readonly string[] {
  if (!("conflicts" in applied)) throw new Error(`Cannot list conflicts: there are none`);
  return applied.conflicts.map(({ owner, path }) => `${owner.manager}:${path.map(({ id }) => id).join("/")}`);
}
