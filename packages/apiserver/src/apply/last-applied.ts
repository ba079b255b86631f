import { type ApiObject, isJsonObject, stringAt } from "../api-object.ts";
import { typeProblems } from "./check-type.ts";
import { compare } from "./compare.ts";
import { fieldsOf } from "./extract.ts";
import { difference, type FieldSet, noFields, union } from "./field-set.ts";
import { canonicalJson } from "./value-order.ts";
import { type Versioned, withoutManagedFields } from "./versioned.ts";

/** The annotation where a client-side `kubectl apply` keeps the configuration that it applied last. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The only manager that takes over fields by that annotation, as in kube-apiserver. */
export const lastAppliedManager = "kubectl";

/** The limit of all annotations of an object together. */
const maxAnnotationBytes = 256 * 1024;

/**
 * The fields in the annotation of a live object that still have the value of the annotation. kubectl may take them over from
 * any manager.
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

/** Updates the annotation of objects that have it, so that the user can return to client-side apply. */
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
