import { isJsonObject, type JsonObject } from "../primitives/deep-equal.ts";
import { groupOf } from "../primitives/owner-reference.ts";
import type { KindConversion } from "./kind-conversion.ts";
import { sandboxConversion } from "./sandbox.ts";
import { sandboxClaimConversion } from "./sandbox-claim.ts";
import { sandboxTemplateConversion } from "./sandbox-template.ts";
import { sandboxWarmPoolConversion } from "./sandbox-warm-pool.ts";
import { Unconvertible } from "./unconvertible.ts";
import { down, type Parts, up } from "./up-and-down.ts";

export type ConversionResult = { readonly object: JsonObject } | { readonly error: string };

const kinds: readonly KindConversion[] = [
  sandboxConversion,
  sandboxClaimConversion,
  sandboxTemplateConversion,
  sandboxWarmPoolConversion,
];

/**
 * Converts one of our objects to another version of its kind. An object of that version is returned unchanged. Converting an
 * object to the other version and back returns the same object, except that `status.replicas` of a v1alpha1 Sandbox is
 * computed. State that a version cannot express is kept in an annotation, and is used only if the fields it belongs to were
 * not edited. The input is not changed; the result shares the parts that both versions have.
 */
export function convert(object: unknown, toApiVersion: string): ConversionResult {
  if (!isJsonObject(object)) return { error: "Cannot convert: not an object" };
  const { apiVersion, kind } = object;
  const where = `Cannot convert ${String(kind)} "${nameOf(object)}" from "${String(apiVersion)}" to "${toApiVersion}"`;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    return { error: `${where}: apiVersion and kind must be strings` };
  }
  const group = groupOf(apiVersion);
  const conversion = kinds.find((known) => known.kind === kind && known.group === group);
  if (conversion === undefined) return { error: `${where}: the kind is not known` };
  const served = versionsOf(group);
  if (!served.includes(apiVersion) || !served.includes(toApiVersion)) {
    return { error: `${where}: want ${served.join(" or ")}` };
  }
  if (apiVersion === toApiVersion) return { object };
  try {
    const parts = takeApart(object);
    const converted = toApiVersion.endsWith("/v1beta1") ? up(conversion, parts) : down(conversion, parts);
    return { object: putTogether(object, toApiVersion, converted) };
  } catch (error) {
    if (error instanceof Unconvertible) return { error: `${where}: ${error.message}` };
    throw error;
  }
}

/** Whether any of our kinds is served in that version. */
export function isServed(apiVersion: string): boolean {
  return kinds.some(({ group }) => versionsOf(group).includes(apiVersion));
}

function versionsOf(group: string): readonly string[] {
  return [`${group}/v1alpha1`, `${group}/v1beta1`];
}

function takeApart(object: JsonObject): Parts {
  const metadata = objectAt(object, "metadata", "metadata") ?? {};
  const status = objectAt(object, "status", "status");
  return {
    name: typeof metadata["name"] === "string" ? metadata["name"] : "",
    annotations: new Map(Object.entries(objectAt(metadata, "annotations", "metadata.annotations") ?? {})),
    content: { spec: objectAt(object, "spec", "spec") ?? {}, ...(status === undefined ? {} : { status }) },
  };
}

function putTogether(source: JsonObject, apiVersion: string, { annotations, content }: Parts): JsonObject {
  const { annotations: _, ...metadata } = objectAt(source, "metadata", "metadata") ?? {};
  const { kind } = source;
  const kept = annotations.size === 0 ? {} : { annotations: Object.fromEntries(annotations) };
  const hasMetadata = isJsonObject(source["metadata"]) || annotations.size > 0;
  return { apiVersion, kind, ...(hasMetadata ? { metadata: { ...metadata, ...kept } } : {}), ...content };
}

function objectAt(object: JsonObject, field: string, path: string): JsonObject | undefined {
  const value = object[field] ?? undefined;
  if (value === undefined || isJsonObject(value)) return value;
  throw new Unconvertible(`${path} is not an object`);
}

function nameOf({ metadata }: JsonObject): string {
  if (!isJsonObject(metadata)) return "";
  return [metadata["namespace"], metadata["name"]].filter((part) => typeof part === "string").join("/");
}
