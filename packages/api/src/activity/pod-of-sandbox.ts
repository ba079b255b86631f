import { podNameAnnotation } from "../annotations.ts";
import { coreGroup } from "../kinds.ts";
import type { Pod } from "../kubernetes.ts";
import { controllerOf, refersToKind } from "../primitives/owner-reference.ts";
import type { Sandbox } from "../v1beta1/sandbox.ts";

/** The name of the Sandbox's Pod: the one in its annotation, else the Sandbox's own. */
export function trackedPodName({ metadata }: Sandbox): string {
  return metadata.annotations?.[podNameAnnotation] || (metadata.name ?? "");
}

/**
 * Whether this is the Pod that the Sandbox runs. Everybody who may create Pods can write owner references, so a reference
 * alone is not enough: the Pod must be in the Sandbox's namespace and have the name of the Sandbox's Pod.
 */
export function isPodOfSandbox(sandbox: Sandbox, pod: Pod): boolean {
  const owner = controllerOf(pod);
  const { namespace, name, uid } = sandbox.metadata;
  return (
    owner !== undefined &&
    refersToKind(owner, { group: coreGroup, kind: "Sandbox" }) &&
    uid !== undefined &&
    owner.uid === uid &&
    owner.name === name &&
    pod.metadata?.namespace === namespace &&
    pod.metadata?.name === trackedPodName(sandbox)
  );
}
