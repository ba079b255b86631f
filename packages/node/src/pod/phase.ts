import type { ContainerStatus, Pod } from "@agent-sandbox/api";
import type { Role } from "./members.ts";

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

/** A container's status and role. */
export interface MemberStatus {
  readonly role: Role;
  readonly status: ContainerStatus;
}

/**
 * The kubelet's rules. Until the init containers have succeeded, the Pod is Pending, or Failed if one failed and is not
 * restarted. After that it is Pending until every main container has run, Running while one runs or will restart, then
 * Succeeded or Failed. Sidecars do not count.
 */
export function phaseOf(pod: Pod, members: readonly MemberStatus[]): Phase {
  const [inits, mains] = (["init", "main"] as const).map((role) =>
    members.filter((one) => one.role === role).map(({ status }) => status),
  ) as [ContainerStatus[], ContainerStatus[]];
  const hasFailed = ({ state }: ContainerStatus): boolean => (state?.terminated?.exitCode ?? 0) !== 0;
  const hasRun = ({ state, lastState }: ContainerStatus): boolean =>
    state?.waiting === undefined || lastState?.terminated !== undefined;
  if (pod.spec?.restartPolicy === "Never" && inits.some(hasFailed)) return "Failed";
  const isInitialized = inits.every(({ state }) => state?.terminated?.exitCode === 0) || mains.some(hasRun);
  if (!isInitialized || mains.length === 0 || !mains.every(hasRun)) return "Pending";
  if (mains.some(({ state }) => state?.terminated === undefined)) return "Running";
  return mains.some(hasFailed) ? "Failed" : "Succeeded";
}
