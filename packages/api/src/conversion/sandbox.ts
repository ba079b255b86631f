import { v1alpha1SandboxStateAnnotation, v1beta1SandboxStateAnnotation } from "../annotations.ts";
import { coreGroup } from "../kinds.ts";
import type { JsonObject } from "../primitives/deep-equal.ts";
import * as v1alpha1 from "../v1alpha1/sandbox.ts";
import * as v1beta1 from "../v1beta1/sandbox.ts";
import { compareFields } from "./fields.ts";
import type { KindConversion } from "./kind-conversion.ts";
import { partOf, unreadable } from "./saved-state.ts";
import { Unconvertible } from "./unconvertible.ts";

/** `replicas: 0` means Suspended. 1, any other number and an absent value mean Running. */
export const sandboxConversion: KindConversion = {
  group: coreGroup,
  kind: "Sandbox",
  fields: {
    spec: compareFields(v1alpha1.sandboxSpec, v1beta1.sandboxSpec),
    status: compareFields(v1alpha1.sandboxStatus, v1beta1.sandboxStatus),
  },
  v1alpha1State: v1alpha1SandboxStateAnnotation,
  v1beta1State: v1beta1SandboxStateAnnotation,

  upSpec: ({ spec }) => ({ operatingMode: replicasOf(spec) === 0 ? "Suspended" : "Running" }),

  downSpec({ spec }, saved) {
    if (impliedReplicas(spec) === 0) return { replicas: 0 };
    if (saved === undefined) return { replicas: 1 };
    const replicas = savedReplicas(saved);
    return replicas === undefined ? {} : { replicas: replicas === 0 ? 1 : replicas };
  },

  // Computed, because a saved value would be wrong after the Sandbox is suspended or resumed.
  downStatus: ({ spec }) => ({ replicas: impliedReplicas(spec) }),

  saveAlpha({ spec }) {
    const replicas = replicasOf(spec);
    if (replicas === 0 || replicas === 1) return undefined;
    // Other implementations report the saved status, so save that of a running Sandbox.
    return { spec: replicas === undefined ? {} : { replicas }, status: { replicas: 1 } };
  },

  derived: {
    field: "operatingMode",
    shownAs: (alphaSpec) => ({ replicas: replicasOf(alphaSpec) ?? 1 }),
    mustSave: (betaSpec) => betaSpec["operatingMode"] === undefined,
  },
};

function impliedReplicas(betaSpec: JsonObject): 0 | 1 {
  return betaSpec["operatingMode"] === "Suspended" ? 0 : 1;
}

function replicasOf(alphaSpec: JsonObject): number | undefined {
  const replicas = alphaSpec["replicas"] ?? undefined;
  if (replicas === undefined || isWhole(replicas)) return replicas;
  throw new Unconvertible("spec.replicas is not a whole number");
}

function savedReplicas(saved: JsonObject): number | undefined {
  const replicas = partOf(saved, "spec")["replicas"] ?? undefined;
  if (replicas === undefined || isWhole(replicas)) return replicas;
  throw unreadable(v1alpha1SandboxStateAnnotation, '"spec.replicas" is not a whole number');
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
