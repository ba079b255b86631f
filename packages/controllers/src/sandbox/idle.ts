import {
  controllerOf,
  deleteAfterMs,
  idleWindowMs,
  lastActivity,
  type Sandbox,
  sleepReason,
  suspendAfterMs,
} from "@agent-sandbox/api";
import type { Observed } from "./observed.ts";

/** How long until the Sandbox has been idle for long enough to be suspended; undefined: it will not be suspended. */
export function suspendInMs({ sandbox, watched }: Observed): number | undefined {
  const limit = suspendAfterMs(sandbox);
  if (limit === undefined || watched.ready === undefined || sleepReason(sandbox) !== undefined) return undefined;
  return Math.max(0, limit - watched.ready);
}

/** How long until the Sandbox has been idle for long enough to be deleted; undefined: it will not be deleted. */
export function deleteInMs({ sandbox, watched }: Observed): number | undefined {
  const limit = deleteAfterMs(sandbox);
  return limit === undefined || watched.quiet === undefined ? undefined : Math.max(0, limit - watched.quiet);
}

/** Changes when the Sandbox is used, its spec is edited or it is claimed; undefined when it has no idle policy. */
export function quietIdentity(sandbox: Sandbox): string | undefined {
  if (idleWindowMs(sandbox) === undefined) return undefined;
  const { uid, generation } = sandbox.metadata;
  return JSON.stringify([uid, generation, controllerOf(sandbox)?.uid, lastActivity(sandbox)]);
}
