import { v1alpha1SandboxClaimStateAnnotation, v1beta1SandboxClaimStateAnnotation } from "../annotations.ts";
import { extensionsGroup } from "../kinds.ts";
import { deepEqual, isJsonObject, type JsonObject } from "../primitives/deep-equal.ts";
import { sandboxClaimStatus } from "../shapes/claim-shapes.ts";
import * as v1alpha1 from "../v1alpha1/sandbox-claim.ts";
import * as v1beta1 from "../v1beta1/sandbox-claim.ts";
import { compareFields } from "./fields.ts";
import type { Content, KindConversion } from "./kind-conversion.ts";
import { partOf, unreadable } from "./saved-state.ts";
import { Unconvertible } from "./unconvertible.ts";

/** The name of the pool that stands for a template when a v1alpha1 claim chose none. */
export const shadowPoolPrefix = "shadow-pool-";

/** What a v1alpha1 claim says: a template, and which pool to take from, if any in particular. */
interface Choice {
  readonly template: string;
  /** Absent means `default`. */
  readonly warmpool?: string;
}

/** A v1alpha1 claim names a template and perhaps a pool; a v1beta1 claim names a pool, which has the template. */
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

  // Saved even where the pool's name would tell as much: the pool may be changed in v1beta1, and the template must not.
  saveAlpha: ({ spec }, betaSpec) => ({
    spec: shown(choiceOf(spec)),
    shownAs: { warmPoolRef: { name: textAt(betaSpec, "warmPoolRef", "name") ?? "" } },
  }),

  derived: {
    field: "warmPoolRef",
    shownAs: (alphaSpec) => shown({ warmpool: "default", ...choiceOf(alphaSpec) }),
    // A pool named outright leads back to itself; any other choice leads to a pool that depends on the claim's status.
    mustSave(betaSpec, alphaSpec) {
      const { warmpool } = choiceOf(alphaSpec);
      return !isSpecific(warmpool) || textAt(betaSpec, "warmPoolRef", "name") !== warmpool;
    },
  },
};

function poolOf({ template, warmpool }: Choice, sandbox: string | undefined, claim: string): string {
  if (isSpecific(warmpool)) return warmpool;
  // A Sandbox that is not named after its claim came from a pool, and is named after that.
  if (sandbox !== undefined && sandbox !== claim) return withoutSuffix(sandbox);
  return shadowPoolPrefix + template;
}

/** The choice that a claim made in v1beta1 is shown as. */
function nativeChoice(pool: string): Choice {
  return pool.startsWith(shadowPoolPrefix)
    ? { template: pool.slice(shadowPoolPrefix.length), warmpool: "default" }
    : { template: pool, warmpool: pool };
}

/** Whether the pool of the claim is still the one that the saved choice led to. */
function standsFor(pool: string, choice: Choice, shownAs: unknown, sandbox: string | undefined): boolean {
  if (shownAs !== undefined) return deepEqual(shownAs, { warmPoolRef: { name: pool } });
  // Other implementations do not save which pool that was: these are all it can have been.
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

/** Undefined also when the annotation can be read but says nothing of a template. */
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
