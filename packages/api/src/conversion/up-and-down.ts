import type { JsonObject } from "../primitives/deep-equal.ts";
import { restoreBeta, saveBeta } from "./beta-state.ts";
import { pick } from "./fields.ts";
import type { Content, KindConversion } from "./kind-conversion.ts";
import { readState, refusal, unreadable } from "./saved-state.ts";

/** The parts of an object that `up` and `down` change. */
export interface Parts {
  readonly name: string;
  readonly annotations: ReadonlyMap<string, unknown>;
  readonly content: Content;
}

/** Converts v1alpha1 to v1beta1. */
export function up(kind: KindConversion, { name, annotations, content: alpha }: Parts): Parts {
  const saved = readState(annotations, kind.v1beta1State);
  const plain = plainUp(kind, alpha, name);
  const restored = restoreBeta(kind, plain, alpha, saved);
  const spec = { ...restored.spec, ...fromOwnAnnotations(kind, annotations) };
  const kept = foreignAnnotations(kind, annotations);
  const state = kind.saveAlpha?.(alpha, spec);
  if (state !== undefined) kept.set(kind.v1alpha1State, JSON.stringify(state));
  return { name, annotations: kept, content: { ...restored, spec } };
}

/** Converts v1beta1 to v1alpha1. */
export function down(kind: KindConversion, { name, annotations, content: beta }: Parts): Parts {
  // A kind without saved state ignores what other implementations have saved.
  const saved = kind.saveAlpha === undefined ? undefined : readState(annotations, kind.v1alpha1State);
  const alpha = plainDown(kind, beta, saved);
  const kept = foreignAnnotations(kind, annotations);
  for (const [field, key] of Object.entries(kind.ownAnnotations ?? {})) {
    const value = beta.spec[field];
    if (typeof value === "string" && value !== "") kept.set(key, value);
  }
  const state = saveBeta(kind, beta, alpha, plainUp(kind, alpha, name));
  if (state !== undefined) kept.set(kind.v1beta1State, JSON.stringify(state));
  return { name, annotations: kept, content: alpha };
}

function plainUp(kind: KindConversion, alpha: Content, name: string): Content {
  const spec = { ...pick(alpha.spec, kind.fields.spec.shared), ...kind.upSpec(alpha, name) };
  if (alpha.status === undefined) return { spec };
  const status = pick(alpha.status, kind.fields.status.shared);
  // A status with only computed v1alpha1 fields does not exist in v1beta1.
  const nothingLeft = Object.keys(status).length === 0 && Object.keys(alpha.status).length > 0;
  return nothingLeft ? { spec } : { spec, status };
}

function plainDown(kind: KindConversion, beta: Content, saved: JsonObject | undefined): Content {
  const spec = { ...pick(beta.spec, kind.fields.spec.shared), ...kind.downSpec(beta, saved) };
  const computed = kind.downStatus?.(beta);
  if (beta.status === undefined && computed === undefined) return { spec };
  return { spec, status: { ...pick(beta.status ?? {}, kind.fields.status.shared), ...computed } };
}

function fromOwnAnnotations(kind: KindConversion, annotations: ReadonlyMap<string, unknown>): JsonObject {
  const present = Object.entries(kind.ownAnnotations ?? {}).filter(([, key]) => annotations.has(key));
  return Object.fromEntries(
    present.map(([field, key]) => {
      const result = kind.fields.spec.beta.get(field)?.safeParse(annotations.get(key));
      if (result?.success === false) throw unreadable(key, refusal(result.error));
      return [field, result?.data] as const;
    }),
  );
}

/** The annotations that conversion does not use. */
function foreignAnnotations(kind: KindConversion, annotations: ReadonlyMap<string, unknown>): Map<string, unknown> {
  const ours = [kind.v1beta1State, kind.v1alpha1State, ...Object.values(kind.ownAnnotations ?? {})];
  return new Map(annotations.entries().filter(([key]) => !ours.includes(key)));
}
