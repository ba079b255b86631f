import { v1alpha1SandboxClaimStateAnnotation, v1beta1SandboxClaimStateAnnotation } from "../annotations.ts";
import { extensionsGroup, shadowPoolPrefix } from "../kinds.ts";
import { deepEqual, isJsonObject, type JsonObject } from "../primitives/deep-equal.ts";
import { sandboxClaimStatus } from "../shapes/claim-shapes.ts";
import * as v1alpha1 from "../v1alpha1/sandbox-claim.ts";
import * as v1beta1 from "../v1beta1/sandbox-claim.ts";
import { compareFields } from "./fields.ts";
import type { Content, KindConversion } from "./kind-conversion.ts";
import { partOf, unreadable } from "./saved-state.ts";
import { Unconvertible } from "./unconvertible.ts";

/** The template and the pool that a v1alpha1 claim names. */
interface Choice {
  readonly template: string;
  /** Absent means `default`. */
  readonly warmpool?: string;
}

/** A v1alpha1 claim names a template and optionally a pool. A v1beta1 claim names a pool, which names the template. */
export const sandboxClaimConversion: KindConversion = {
  group: extensionsGroup,
  kind: "SandboxClaim",
  fields: {
    spec: compareFields(v1alpha1.sandboxClaimSpec, v1beta1.sandboxClaimSpec),
    status: compareFields(sandboxClaimStatus, sandboxClaimStatus),
  },
  v1alpha1State: v1alpha1SandboxClaimStateAnnotation,
  v1beta1State: v1beta1SandboxClaimStateAnnotation,

  upSpec: (alpha, name) => ({ warmPoolRef: { name: poolOf(choiceOf(alpha.spec), boundSandbox(alpha), name) } }),

  downSpec(beta, saved) {
    const pool = textAt(beta.spec, "warmPoolRef", "name") ?? "";
    const choice = savedChoice(saved);
    if (choice === undefined) return shown(nativeChoice(pool));
    const stillTrue = standsFor(pool, choice, saved?.["shownAs"], boundSandbox(beta));
    return shown(stillTrue ? choice : { template: choice.template, warmpool: pool });
  },

  // Saved even if the pool's name contains it, because a change of the pool in v1beta1 must not change the template.
  saveAlpha: ({ spec }, betaSpec) => ({
    spec: shown(choiceOf(spec)),
    shownAs: { warmPoolRef: { name: textAt(betaSpec, "warmPoolRef", "name") ?? "" } },
  }),

  derived: {
    field: "warmPoolRef",
    shownAs: (alphaSpec) => shown({ warmpool: "default", ...choiceOf(alphaSpec) }),
    // The name of a pool can be converted back. For any other choice the pool depends on the claim's status.
    mustSave(betaSpec, alphaSpec) {
      const { warmpool } = choiceOf(alphaSpec);
      return !isSpecific(warmpool) || textAt(betaSpec, "warmPoolRef", "name") !== warmpool;
    },
  },
};

function poolOf({ template, warmpool }: Choice, sandbox: string | undefined, claim: string): string {
  if (isSpecific(warmpool)) return warmpool;
  // A Sandbox that does not have the name of its claim comes from a pool and is named after the pool.
  if (sandbox !== undefined && sandbox !== claim) return withoutSuffix(sandbox);
  return shadowPoolPrefix + template;
}

/** How v1alpha1 shows a claim that was created in v1beta1. */
function nativeChoice(pool: string): Choice {
  return pool.startsWith(shadowPoolPrefix)
    ? { template: pool.slice(shadowPoolPrefix.length), warmpool: "default" }
    : { template: pool, warmpool: pool };
}

/** Whether the claim still has the pool that the saved choice was converted to. */
function standsFor(pool: string, choice: Choice, shownAs: unknown, sandbox: string | undefined): boolean {
  if (shownAs !== undefined) return deepEqual(shownAs, { warmPoolRef: { name: pool } });
  // Other implementations do not save which pool that was. These are the possible ones.
  const expected = isSpecific(choice.warmpool) ? choice.warmpool : choice.template;
  const candidates = [expected, shadowPoolPrefix + expected];
  if (sandbox !== undefined) candidates.push(sandbox, withoutSuffix(sandbox));
  return candidates.includes(pool);
}

function isSpecific(warmpool: string | undefined): warmpool is string {
  return warmpool !== undefined && !["", "none", "default"].includes(warmpool);
}

function withoutSuffix(sandbox: string): string {
  const dash = sandbox.lastIndexOf("-");
  return dash < 0 ? sandbox : sandbox.slice(0, dash);
}

function shown({ template, warmpool }: Choice): JsonObject {
  return { sandboxTemplateRef: { name: template }, ...(warmpool === undefined ? {} : { warmpool }) };
}

function choiceOf(alphaSpec: JsonObject): Choice {
  const warmpool = alphaSpec["warmpool"] ?? undefined;
  if (warmpool !== undefined && typeof warmpool !== "string") throw new Unconvertible("spec.warmpool is not a string");
  const template = textAt(alphaSpec, "sandboxTemplateRef", "name") ?? "";
  return { template, ...(warmpool === undefined ? {} : { warmpool }) };
}

/** Undefined also if the annotation is valid but names no template. */
function savedChoice(saved: JsonObject | undefined): Choice | undefined {
  const spec = partOf(saved, "spec");
  if (!Object.hasOwn(spec, "sandboxTemplateRef")) return undefined;
  try {
    return choiceOf(spec);
  } catch (error) {
    throw error instanceof Unconvertible ? unreadable(v1alpha1SandboxClaimStateAnnotation, error.message) : error;
  }
}

function boundSandbox({ status }: Content): string | undefined {
  return textAt(status ?? {}, "sandbox", "name") || undefined;
}

function textAt(object: JsonObject, field: string, name: string): string | undefined {
  const inner = object[field] ?? {};
  if (!isJsonObject(inner)) throw new Unconvertible(`${field} is not an object`);
  const value = inner[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw new Unconvertible(`${field}.${name} is not a string`);
}
