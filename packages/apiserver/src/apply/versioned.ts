import { type ApiObject, isJsonObject } from "../api-object.ts";
import { type FieldSet, noFields } from "./field-set.ts";
import type { FieldType } from "./field-type.ts";

/** What field ownership needs to know about a kind. Each `managedFields` entry names fields of the version of its writer. */
export interface KindVersions {
  /** The object in another version; `undefined` if that version no longer exists. Must not change the object. */
  convert(object: ApiObject, apiVersion: string): ApiObject | undefined;
  /** The type of the objects of a version. */
  type(apiVersion: string): FieldType;
  /** The fields that this endpoint never writes or owns: the status, or everything else. Default: none. */
  resetFields?(apiVersion: string): FieldSet;
  /**
   * The members that every object has. Go's types always have members such as the `spec` of a Pod, so the creator of an
   * object does not own them. Default: none.
   */
  zeroObject?(apiVersion: string): { readonly [name: string]: unknown };
}

/** An object with its type. It has no `managedFields`, because nobody owns those. */
export interface Versioned {
  readonly object: ApiObject;
  readonly type: FieldType;
}

export function versioned(kind: KindVersions, object: ApiObject): Versioned {
  return { object: withoutManagedFields(object), type: kind.type(object.apiVersion) };
}

export function converted(kind: KindVersions, from: Versioned, apiVersion: string): Versioned | undefined {
  if (from.object.apiVersion === apiVersion) return from;
  const object = kind.convert(from.object, apiVersion);
  return object === undefined ? undefined : versioned(kind, object);
}

/** The empty object of the same kind and version. */
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
