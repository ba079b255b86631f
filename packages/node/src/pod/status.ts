import type { Pod, PodStatus } from "@agent-sandbox/api";
import { conditionsFor } from "./conditions.ts";
import { containerStatus } from "./container-status.ts";
import { kubeTime } from "./kube-time.ts";
import { membersOf, type Role } from "./members.ts";
import type { Health } from "./observed.ts";
import { type Phase, phaseOf, type Standing } from "./phase.ts";
import { isDone, isInitialized } from "./plan-containers.ts";
import type { PodRecord } from "./record.ts";

/** Why a Pod's containers do not run, as `state.waiting` shows it. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

export interface StatusSource {
  readonly pod: Pod;
  readonly record: PodRecord | undefined;
  readonly hostAddress: string;
  readonly health: Readonly<Record<string, Health>>;
  readonly problem?: Problem | undefined;
}

export interface StatusInput extends StatusSource {
  readonly isDone: boolean;
}

/** The status to report: the parts the node owns, over what others have written. */
export function podStatus(source: StatusSource, now: number): PodStatus {
  const { pod, record, hostAddress } = source;
  const input = { ...source, isDone: record !== undefined && isDone(pod, record) };
  const initialized = isInitialized(pod, record, source.health);
  const standings = membersOf(pod).map(
    (member): Standing => ({
      role: member.role,
      status: containerStatus(member, input, initialized),
    }),
  );
  const phase = reachedPhase(record?.verdict === undefined ? phaseOf(pod, standings) : "Failed", standings);
  const prepared = record?.prepared === true && record.released !== true;
  const statuses = (...roles: readonly Role[]): Standing["status"][] =>
    standings.filter(({ role }) => roles.includes(role)).map(({ status }) => status);
  const [inits, ephemeral] = [statuses("init", "sidecar"), statuses("ephemeral")];
  return {
    phase,
    conditions: conditionsFor({ pod, phase, standings, prepared, isInitialized: initialized }, now),
    containerStatuses: statuses("main"),
    ...(inits.length > 0 && { initContainerStatuses: inits }),
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral }),
    ...record?.verdict,
    hostIP: hostAddress,
    hostIPs: [{ ip: hostAddress }],
    ...(record !== undefined && {
      startTime: kubeTime(record.startTime),
      podIP: record.address,
      podIPs: [{ ip: record.address }],
    }),
  };
}

/** A Pod is over only when nothing of it runs any more: whoever waits for that may count on it. */
function reachedPhase(phase: Phase, standings: readonly Standing[]): Phase {
  const goesOn = standings.some(({ status }) => status.state?.running !== undefined);
  if (!goesOn || phase === "Pending" || phase === "Running") return phase;
  const hasBegun = standings.some(({ role, status }) => role === "main" && status.state?.waiting === undefined);
  return hasBegun ? "Running" : "Pending";
}
