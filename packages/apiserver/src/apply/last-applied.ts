import { type ApiObject, isJsonObject, stringAt } from "../api-object.ts";
import { typeProblems } from "./check-type.ts";
import { compare } from "./compare.ts";
import { fieldsOf } from "./extract.ts";
import { difference, type FieldSet, noFields, union } from "./field-set.ts";
import { canonicalJson } from "./value-order.ts";
import { type Versioned, withoutManagedFields } from "./versioned.ts";

/** Where `kubectl apply` keeps what it applied when it merges by itself. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The only manager that takes over from that annotation: whoever does not want it uses another name. */
export const lastAppliedManager = "kubectl";

/** As much as all annotations of an object may take. */
const maxAnnotationBytes = 256 * 1024;

/**
 * The fields that the annotation of a live object says its user applied, and that still have the value applied: the user may
 * take them over from whatever manager they were recorded for.
 */
export function lastAppliedFields({ object, type }: Versioned): FieldSet {
  const last = readAnnotation(object);
  if (last === undefined || last["apiVersion"] !== object.apiVersion) return noFields;
  if (typeProblems(last, type).length > 0 || typeProblems(object, type).length > 0) return noFields;
  const { added, modified, removed } = compare(last, object, type);
  return difference(fieldsOf(last, type), union(union(added, modified), removed));
}

function readAnnotation(object: ApiObject): { readonly [name: string]: unknown } | undefined {
  const text = stringAt(object, "metadata", "annotations", lastAppliedAnnotation);
  if (text === undefined || text === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the annotation in step with a server-side apply, so that its user may go back. Objects without one get none. */
export function withLastApplied(object: ApiObject, config: ApiObject): ApiObject {
  const old = stringAt(object, "metadata", "annotations", lastAppliedAnnotation);
  if (old === undefined || old === "") return object;
  const { [lastAppliedAnnotation]: _old, ...others } = object.metadata.annotations ?? {};
  const annotations = { ...others, [lastAppliedAnnotation]: `${canonicalJson(withoutAnnotation(config))}\n` };
  const fits = bytesOf(annotations) <= maxAnnotationBytes;
  return { ...object, metadata: { ...object.metadata, annotations: fits ? annotations : others } };
}

function withoutAnnotation(config: ApiObject): ApiObject {
  const bare = withoutManagedFields(config);
  if (!isJsonObject(bare.metadata.annotations)) return bare;
  const { [lastAppliedAnnotation]: _last, ...annotations } = bare.metadata.annotations;
  return { ...bare, metadata: { ...bare.metadata, annotations } };
}

const bytesOf = (annotations: { readonly [name: string]: unknown }): number =>
  Object.entries(annotations).reduce((sum, [key, text]) => sum + Buffer.byteLength(key + String(text)), 0);
