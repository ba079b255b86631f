/** The members of a warm pool by what they are, for its bar. Pure. */
import {
  findCondition,
  isConditionTrue,
  migrationShadowAnnotation,
  type Sandbox,
  type SandboxWarmPool,
  sandboxTemplateHashLabel,
  sandboxTemplateRefAnnotation,
} from "@agent-sandbox/api";

export interface PoolState {
  readonly ready: number;
  readonly starting: number;
  /** Members that are missing. */
  readonly missing: number;
  readonly wanted: number;
  readonly outdated: number;
  /** Why not all members are ready. */
  readonly why?: string | undefined;
}

export function poolState({ spec, status }: SandboxWarmPool): PoolState {
  const wanted = spec.replicas ?? 1;
  const ready = status?.readyReplicas ?? 0;
  const starting = Math.max(0, (status?.replicas ?? 0) - ready);
  const condition = findCondition(status?.conditions, "Ready");
  const isReady = isConditionTrue(status?.conditions, "Ready");
  return {
    ready,
    starting,
    missing: Math.max(0, wanted - ready - starting),
    wanted,
    outdated: status?.outdatedReplicas ?? 0,
    why: isReady ? undefined : condition?.message || condition?.reason,
  };
}

/** Whether a pool was made only so that claims can name a template. It has no members. */
export function isShadow({ metadata }: SandboxWarmPool): boolean {
  return metadata.annotations?.[migrationShadowAnnotation] === "true";
}

/**
 * Since when sandboxes of the newest version of a template exist: when the oldest of them was created. Undefined: there are none.
 */
export function lastRollout(
  template: string,
  namespace: string | undefined,
  all: readonly Sandbox[],
): string | undefined {
  const own = all.filter(
    ({ metadata }) =>
      metadata.namespace === namespace && metadata.annotations?.[sandboxTemplateRefAnnotation] === template,
  );
  const hashOf = ({ metadata }: Sandbox): string => metadata.labels?.[sandboxTemplateHashLabel] ?? "";
  const madeAt = ({ metadata }: Sandbox): string => metadata.creationTimestamp ?? "";
  const newest = own.reduce<Sandbox | undefined>(
    (found, one) => (found === undefined || madeAt(one) > madeAt(found) ? one : found),
    undefined,
  );
  if (newest === undefined) return undefined;
  return own
    .filter((one) => hashOf(one) === hashOf(newest))
    .map(madeAt)
    .sort()[0];
}
