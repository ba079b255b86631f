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

/** What a template makes Sandboxes from, with everything about it that takes work to find out. */
export interface Blueprint {
  readonly template: SandboxTemplate;
  /** The template's blueprint with secure defaults. Shared: build on it, never change it. */
  readonly spec: SandboxBlueprint;
  /** Tells a member made from another version of the template at a glance. */
  readonly hash: string;
  /** Of the pod template alone; for readers outside. */
  readonly podTemplateHash: string;
}

const known = new WeakMap<SandboxTemplate, Blueprint>();

/** Worked out once for each version of a template. */
export function blueprintOf(template: SandboxTemplate): Blueprint {
  let blueprint = known.get(template);
  if (blueprint === undefined) {
    blueprint = readBlueprint(template);
    known.set(template, blueprint);
  }
  return blueprint;
}

/** The same for a template that may be anything: schemas change, and objects stay. */
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
 * Whether a Sandbox is what the template would make today. Metadata of Pods and volume claims does not count: it can be
 * changed, or does not matter, without a new Sandbox.
 */
export function matchesBlueprint(sandbox: Sandbox, { spec }: Blueprint): boolean {
  return semanticEqual(substanceOf(sandbox.spec), substanceOf(spec));
}

/** What cannot be changed in a Sandbox that runs. */
function substanceOf({ podTemplate, volumeClaimTemplates, ...blueprint }: SandboxBlueprint): object {
  const { service, idlePolicy, resumePolicy, runtime, persistentVolumeClaimRetentionPolicy } = blueprint;
  return {
    spec: podTemplate.spec,
    volumeClaims: (volumeClaimTemplates ?? []).map(volumeOf),
    service,
    idlePolicy,
    resumePolicy,
    runtime,
    persistentVolumeClaimRetentionPolicy,
  };
}

function volumeOf({ metadata, spec }: PersistentVolumeClaimTemplate): object {
  return { name: metadata?.name ?? "", spec };
}

/** The same text for the same value, whatever the order of its members. */
function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
