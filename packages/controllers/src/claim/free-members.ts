import {
  controllerOf,
  extensionsGroup,
  isConditionTrue,
  refersToKind,
  type Sandbox,
  sandboxTemplateRefHashLabel,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import { objectKey } from "@agent-sandbox/kube";
import { isReady } from "../warm-pool/members.ts";

/** How near a free member is to serving a claim: Ready, with an address, or neither. Claims adopt only the first two. */
export type Nearness = "ready" | "addressed" | "pending";

/** An unclaimed pool member. */
export interface FreeMember {
  readonly key: string;
  readonly sandbox: Sandbox;
  readonly poolId: string;
  readonly nearness: Nearness;
  readonly node: string;
}

/** Pools are identified by UID, because a name can be used again. */
export function poolIdOf(namespace: string | undefined, uid: string | undefined): string {
  return `${namespace}/${uid}`;
}

/** The Sandbox as a free member; undefined when claims may not adopt it. Ownership decides, not a label that users can set. */
export function asFreeMember(sandbox: Sandbox): FreeMember | undefined {
  const { labels = {}, deletionTimestamp, namespace } = sandbox.metadata;
  const controller = controllerOf(sandbox);
  if (deletionTimestamp !== undefined || controller === undefined) return undefined;
  if (!refersToKind(controller, { group: extensionsGroup, kind: "SandboxWarmPool" })) return undefined;
  // A Sandbox that has finished cannot serve a claim.
  if (isConditionTrue(sandbox.status?.conditions, "Finished")) return undefined;
  if (!labels[warmPoolSandboxLabel] || !labels[sandboxTemplateRefHashLabel]) return undefined;
  const hasAddress = (sandbox.status?.podIPs?.length ?? 0) > 0;
  return {
    key: objectKey(sandbox),
    sandbox,
    poolId: poolIdOf(namespace, controller.uid),
    nearness: !hasAddress ? "pending" : isReady(sandbox) ? "ready" : "addressed",
    node: sandbox.status?.nodeName ?? "",
  };
}
