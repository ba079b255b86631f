import type * as z from "zod";
import { deepEqual, type JsonObject } from "../primitives/deep-equal.ts";
import type { Content, KindConversion } from "./kind-conversion.ts";
import { partOf, refusal, unreadable } from "./saved-state.ts";

/**
 * The state that a v1alpha1 object needs to be converted back to the same v1beta1 object: a partial v1beta1 object, in which
 * null means that a field was absent. Undefined if the v1alpha1 fields are enough. `plain` is the result of converting only
 * these fields back.
 */
export function saveBeta(kind: KindConversion, beta: Content, alpha: Content, plain: Content): JsonObject | undefined {
  const spec = { ...hidden(kind, "spec", beta.spec), ...savedDerived(kind, beta.spec, alpha.spec) };
  const status = beta.status === undefined ? {} : hidden(kind, "status", beta.status);
  const statusLost = beta.status !== undefined && plain.status === undefined;
  const { derived } = kind;
  const state = {
    ...(Object.keys(spec).length === 0 ? {} : { spec }),
    ...(Object.keys(status).length === 0 && !statusLost ? {} : { status }),
    ...(derived !== undefined && derived.field in spec ? { shownAs: derived.shownAs(alpha.spec) } : {}),
  };
  return Object.keys(state).length === 0 ? undefined : state;
}

/**
 * Adds the saved fields to the result of converting the v1alpha1 fields. Saved values never replace v1alpha1 fields, and fields
 * that v1beta1 does not have are dropped. A value that is invalid in v1beta1 is an error: the API server has validated the
 * object against the v1alpha1 schema only.
 */
export function restoreBeta(
  kind: KindConversion,
  plain: Content,
  alpha: Content,
  saved: JsonObject | undefined,
): Content {
  if (saved === undefined) return plain;
  const spec = { ...plain.spec, ...checked(kind, "spec", saved) };
  const status = { ...plain.status, ...checked(kind, "status", saved) };
  const hasStatus = plain.status !== undefined || Object.hasOwn(saved, "status");
  return { spec: restoreDerived(kind, spec, alpha.spec, saved), ...(hasStatus ? { status } : {}) };
}

type Part = "spec" | "status";

function hidden(kind: KindConversion, part: Part, source: JsonObject): JsonObject {
  const carried = carriedFields(kind, part);
  return Object.fromEntries(
    Object.entries(source).filter(([name, value]) => carried.get(name)?.safeParse(value).success === true),
  );
}

function checked(kind: KindConversion, part: Part, saved: JsonObject): JsonObject {
  const carried = carriedFields(kind, part);
  return Object.fromEntries(
    Object.entries(partOf(saved, part)).flatMap(([name, value]) => {
      const schema = carried.get(name);
      return schema === undefined ? [] : [[name, accepted(kind, `${part}.${name}`, schema, value)] as const];
    }),
  );
}

/** The v1beta1 fields that a v1alpha1 object can keep only in the state annotation. */
function carriedFields(kind: KindConversion, part: Part): ReadonlyMap<string, z.ZodType> {
  const otherwise = part === "spec" ? [kind.derived?.field, ...Object.keys(kind.ownAnnotations ?? {})] : [];
  return new Map(kind.fields[part].betaOnly.entries().filter(([name]) => !otherwise.includes(name)));
}

function savedDerived(kind: KindConversion, betaSpec: JsonObject, alphaSpec: JsonObject): JsonObject {
  if (kind.derived?.mustSave(betaSpec, alphaSpec) !== true) return {};
  return { [kind.derived.field]: betaSpec[kind.derived.field] ?? null };
}

function restoreDerived(kind: KindConversion, spec: JsonObject, alphaSpec: JsonObject, saved: JsonObject): JsonObject {
  const { derived } = kind;
  const savedSpec = partOf(saved, "spec");
  if (derived === undefined || !Object.hasOwn(savedSpec, derived.field)) return spec;
  if (!deepEqual(saved["shownAs"], derived.shownAs(alphaSpec))) return spec;
  const { [derived.field]: _, ...rest } = spec;
  const value = savedSpec[derived.field];
  const schema = kind.fields.spec.beta.get(derived.field);
  if (value === null || schema === undefined) return rest;
  return { ...rest, [derived.field]: accepted(kind, `spec.${derived.field}`, schema, value) };
}

function accepted(kind: KindConversion, path: string, schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (!result.success) throw unreadable(kind.v1beta1State, `v1beta1 refuses its "${path}": ${refusal(result.error)}`);
  return result.data;
}
