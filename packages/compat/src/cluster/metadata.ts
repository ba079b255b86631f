import { isReservedKey, type ObjectMeta } from "@agent-sandbox/api";
import { annotationOf, metadataAnnotation } from "./compat-annotations.ts";

export type Metadata = Readonly<Record<string, string>>;

/** Annotations of an object may have 256 KiB together. */
const maxBytes = 192 * 1024;

export function metadataProblem(metadata: Metadata): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes > maxBytes ? `metadata has ${bytes} bytes; the limit is ${maxBytes}` : undefined;
}

export function metadataOf(object: { readonly metadata: ObjectMeta }): Metadata {
  try {
    const value: unknown = JSON.parse(annotationOf(object, metadataAnnotation) ?? "{}");
    if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
    return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === "string"));
  } catch {
    return {};
  }
}

const labelKey = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const maxLabels = 32;

/** The pairs that can be labels, so that kubectl can select by them. Keys with a prefix belong to Kubernetes and its extensions. */
export function labelsOf(metadata: Metadata): Readonly<Record<string, string>> {
  const pairs = Object.entries(metadata).filter(
    ([key, value]) => labelKey.test(key) && labelValue.test(value) && !isReservedKey(key),
  );
  return Object.fromEntries(pairs.slice(0, maxLabels));
}

export function matches(metadata: Metadata, wanted: Metadata): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);
}
