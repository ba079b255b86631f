import {
  nameHash,
  type PersistentVolumeClaimTemplate,
  type Sandbox,
  type SandboxBlueprint,
  type SandboxTemplate,
  semanticEqual,
} from "@agent-sandbox/api";
import { errorText } from "../error-text.ts";
import { withSecureDefaults } from "./secure-defaults.ts";

/** What Sandboxes are created from, with values derived from the template that are expensive to compute. */
export interface Blueprint {
  readonly template: SandboxTemplate;
  /** The template's spec with secure defaults. Shared between callers: copy it to change it. */
  readonly spec: SandboxBlueprint;
  /** Differs between members that were created from different versions of the template. */
  readonly hash: string;
  /** Hash of the pod template alone, for clients that read the label. */
  readonly podTemplateHash: string;
}

const known = new WeakMap<SandboxTemplate, Blueprint>();

/** Computed once for each version of a template. */
export function blueprintOf(template: SandboxTemplate): Blueprint {
  let blueprint = known.get(template);
  if (blueprint === undefined) {
    blueprint = readBlueprint(template);
    known.set(template, blueprint);
  }
  return blueprint;
}

/** The same for a stored template that may not satisfy today's schema. */
export function understand(
  template: SandboxTemplate,
): { readonly blueprint: Blueprint } | { readonly problem: string } {
  try {
    return { blueprint: blueprintOf(template) };
  } catch (error) {
    return { problem: `Cannot understand SandboxTemplate "${template.metadata.name}": ${errorText(error)}` };
  }
}

function readBlueprint(template: SandboxTemplate): Blueprint {
  const { networkPolicy: _n, networkPolicyManagement: _m, ...rest } = template.spec;
  const { envVarsInjectionPolicy: _e, volumeClaimTemplatesPolicy: _v, ...blueprint } = rest;
  const spec = { ...blueprint, podTemplate: { ...blueprint.podTemplate, spec: withSecureDefaults(template) } };
  return {
    template,
    spec,
    hash: nameHash(stableJson(substanceOf(spec))),
    podTemplateHash: nameHash(stableJson(spec.podTemplate)),
  };
}

/**
 * Whether a Sandbox is what the template would create today. Metadata of Pods and volume claims is not compared: it can be
 * changed in place.
 */
export function matchesBlueprint(sandbox: Sandbox, { spec }: Blueprint): boolean {
  return semanticEqual(substanceOf(sandbox.spec), substanceOf(spec));
}

/** The fields that cannot be changed in a running Sandbox. */
function substanceOf({ podTemplate, volumeClaimTemplates, ...blueprint }: SandboxBlueprint): object {
  const { service, idlePolicy, suspendPolicy, restoreFrom, resumePolicy, runtime } = blueprint;
  return {
    spec: podTemplate.spec,
    volumeClaims: (volumeClaimTemplates ?? []).map(volumeOf),
    service,
    idlePolicy,
    suspendPolicy,
    restoreFrom,
    resumePolicy,
    runtime,
    persistentVolumeClaimRetentionPolicy: blueprint.persistentVolumeClaimRetentionPolicy,
  };
}

function volumeOf({ metadata, spec }: PersistentVolumeClaimTemplate): object {
  return { name: metadata?.name ?? "", spec };
}

/** JSON with sorted keys: equal values give equal text. */
function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
