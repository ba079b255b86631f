import {
  compareTimes,
  controllerOf,
  findCondition,
  lastActivityAnnotation,
  parseTime,
  type Sandbox,
} from "@agent-sandbox/api";
import { isPoolMember, type Observed } from "./observed.ts";

/** Why a Sandbox is not to run: its spec says so, or nobody uses it. */
export type Sleep = "spec" | "idle";

export const isSuspended = (sandbox: Sandbox): boolean => sandbox.spec?.operatingMode === "Suspended";

/** When the Sandbox was last used, as the router wrote it; what is no time counts as nothing. */
export function lastActivity(sandbox: Sandbox): string | undefined {
  const written = sandbox.metadata.annotations?.[lastActivityAnnotation];
  return written === undefined || "error" in parseTime(written) ? undefined : written;
}

/**
 * Whether the Sandbox sleeps. Idleness is persisted before anything is stopped: the reason of the condition is the mark,
 * and `status.lastActivityTime` is the activity it was decided on. Any other activity since wakes the Sandbox. No two
 * clocks are compared.
 */
export function sleepOf({ sandbox }: Pick<Observed, "sandbox">): Sleep | undefined {
  if (isSuspended(sandbox)) return "spec";
  const isMarked = findCondition(sandbox.status?.conditions, "Suspended")?.reason === "Idle";
  return isMarked && limitMs(sandbox, "suspendAfterSeconds") !== undefined && !hasNewActivity(sandbox)
    ? "idle"
    : undefined;
}

function hasNewActivity(sandbox: Sandbox): boolean {
  const activity = lastActivity(sandbox);
  return activity !== undefined && compareTimes(activity, sandbox.status?.lastActivityTime ?? "") !== 0;
}

/** How long until the Sandbox has been idle for long enough to be suspended; undefined: it is not going to be. */
export function suspendInMs(seen: Observed): number | undefined {
  const { ready } = seen.watched;
  const limit = limitMs(seen.sandbox, "suspendAfterSeconds");
  if (limit === undefined || ready === undefined || sleepOf(seen) !== undefined) return undefined;
  return Math.max(0, limit - ready);
}

export function deleteInMs({ sandbox, watched }: Observed): number | undefined {
  const limit = limitMs(sandbox, "deleteAfterSeconds");
  return limit === undefined || watched.quiet === undefined ? undefined : Math.max(0, limit - watched.quiet);
}

/** What changes when somebody uses the Sandbox, edits its spec or takes it over; undefined when idleness has no effect. */
export function quietIdentity(sandbox: Sandbox): string | undefined {
  const limits = [limitMs(sandbox, "suspendAfterSeconds"), limitMs(sandbox, "deleteAfterSeconds")];
  if (limits.every((limit) => limit === undefined)) return undefined;
  const { uid, generation } = sandbox.metadata;
  return JSON.stringify([uid, generation, controllerOf(sandbox)?.uid, lastActivity(sandbox)]);
}

/** A pool's members are there to wait: for them idleness has no limits. */
function limitMs(sandbox: Sandbox, limit: "suspendAfterSeconds" | "deleteAfterSeconds"): number | undefined {
  const seconds = sandbox.spec?.idlePolicy?.[limit];
  return typeof seconds === "number" && !isPoolMember(sandbox) ? seconds * 1000 : undefined;
}
