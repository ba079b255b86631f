import type { ContainerStatus, Pod } from "@agent-sandbox/api";
import type { Role } from "./members.ts";

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

/** A container's status with what it is to its Pod. */
export interface Standing {
  readonly role: Role;
  readonly status: ContainerStatus;
}

/**
 * The kubelet's rules. Init containers decide until they are through; then those the Pod is for do: as long as one has
 * never run the Pod is Pending, as long as one goes on or will start again it is Running. Sidecars have no say.
 */
export function phaseOf(pod: Pod, standings: readonly Standing[]): Phase {
  const [inits, mains] = (["init", "main"] as const).map((role) =>
    standings.filter((one) => one.role === role).map(({ status }) => status),
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
