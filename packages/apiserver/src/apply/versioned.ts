import { type ApiObject, isJsonObject } from "../api-object.ts";
import { type FieldSet, noFields } from "./field-set.ts";
import { type FieldType, objectType } from "./field-type.ts";
import type { MergeSchema } from "./merge-schema.ts";

/** What ownership has to know of a kind. Entries of `managedFields` name fields of the version in which they were written. */
export interface KindVersions {
  /** The object in another version; `undefined` when that version is not known any more. Must not change the object. */
  convert(object: ApiObject, apiVersion: string): ApiObject | undefined;
  /** The schema of a known version, `undefined` when it has none. */
  schema(apiVersion: string): MergeSchema | undefined;
  /** The fields that this endpoint never writes, and so never owns: the status, or all but the status. Default: none. */
  resetFields?(apiVersion: string): FieldSet;
  /**
   * What an object has before anybody wrote to it. Kubernetes' own types cannot leave out members such as the `spec` of a
   * Pod, so their creator does not own those for existing. Default: nothing.
   */
  zeroObject?(apiVersion: string): { readonly [name: string]: unknown };
}

/** An object and how it is divided. It has no `managedFields`: ownership is not owned. */
export interface Versioned {
  readonly object: ApiObject;
  readonly type: FieldType;
}

export function versioned(kind: KindVersions, object: ApiObject): Versioned {
  return { object: withoutManagedFields(object), type: objectType(kind.schema(object.apiVersion)) };
}

export function converted(kind: KindVersions, from: Versioned, apiVersion: string): Versioned | undefined {
  if (from.object.apiVersion === apiVersion) return from;
  const object = kind.convert(from.object, apiVersion);
  return object === undefined ? undefined : versioned(kind, object);
}

/** An object of the same kind and version that nobody wrote to yet. */
export function zeroLike(kindOf: KindVersions, { object, type }: Versioned): Versioned {
  const { apiVersion, kind } = object;
  return { object: { metadata: {}, ...kindOf.zeroObject?.(apiVersion), apiVersion, kind }, type };
}

export function resetFields(kind: KindVersions, apiVersion: string): FieldSet {
  return kind.resetFields?.(apiVersion) ?? noFields;
}

export function withoutManagedFields(object: ApiObject): ApiObject {
  if (!isJsonObject(object.metadata) || !("managedFields" in object.metadata)) return object;
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}
