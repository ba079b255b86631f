import {
  blueprintChoices,
  canonicalJson,
  nameHash,
  type Pod,
  podSpecHashAnnotation,
  type Sandbox,
} from "@agent-sandbox/api";

/**
 * The annotation of a new Pod that tells from which spec it was created: the Sandbox's generation, and a hash of the parts of its
 * spec that a Pod cannot change while it runs. Metadata is not one of them: the controller changes it in place.
 */
export function specMark({ metadata, spec }: Sandbox): string {
  return `${metadata.generation ?? 0}-${specHash(spec)}`;
}

/**
 * Whether the Pod was created from another spec than the Sandbox has now. Nothing is known about a Pod without a valid mark: another
 * controller created it, or somebody has edited it.
 */
export function isOutdated(sandbox: Sandbox, pod: Pod): boolean {
  const [, generation, hash] = /^(\d{1,15})-([0-9a-f]{8})$/.exec(markOf(pod)) ?? [];
  // In the same generation the spec is the same, also if a newer schema fills in other defaults.
  if (hash === undefined || Number(generation) === (sandbox.metadata.generation ?? 0)) return false;
  return hash !== specHash(sandbox.spec);
}

function markOf({ metadata }: Pod): string {
  return metadata?.annotations?.[podSpecHashAnnotation] ?? "";
}

function specHash(spec: Sandbox["spec"]): string {
  const { runtime } = blueprintChoices(spec);
  return nameHash(`${runtime} ${canonicalJson(spec.podTemplate.spec, ["spec"])}`);
}
