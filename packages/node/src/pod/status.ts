import { type Pod, type PodStatus, semanticEqual } from "@agent-sandbox/api";
import { conditionsFor } from "./conditions.ts";
import { containerStatus } from "./container-status.ts";
import { kubeTime } from "./kube-time.ts";
import { membersOf, type Role } from "./members.ts";
import type { Health, NodeRules } from "./observed.ts";
import { type MemberStatus, type Phase, phaseOf } from "./phase.ts";
import { isDone, isInitialized } from "./plan-containers.ts";
import { isBeingSaved } from "./plan-save.ts";
import type { PodRecord } from "./record.ts";
import { stateConditions } from "./state-conditions.ts";

/** Why a Pod's containers do not run, as `state.waiting` shows it. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

export interface StatusSource {
  readonly pod: Pod;
  readonly record: PodRecord | undefined;
  readonly hostAddress: string;
  readonly rules: NodeRules;
  readonly health: Readonly<Record<string, Health>>;
  readonly problem?: Problem | undefined;
}

export interface StatusInput extends StatusSource {
  readonly now: number;
  readonly isDone: boolean;
}

/** The fields of the Pod's status that the node owns. */
export function podStatus(source: StatusSource, now: number): PodStatus {
  const { pod, record, hostAddress } = source;
  const input = { ...source, now, isDone: record !== undefined && isDone(pod, record) };
  const initialized = isInitialized(pod, record, source.health);
  const members = membersOf(pod).map(
    (member): MemberStatus => ({
      role: member.role,
      status: containerStatus(member, input, initialized),
    }),
  );
  const phase = reachedPhase(record?.verdict === undefined ? phaseOf(pod, members) : "Failed", members);
  const prepared = record?.prepared === true && record.released !== true;
  const statuses = (...roles: readonly Role[]): MemberStatus["status"][] =>
    members.filter(({ role }) => roles.includes(role)).map(({ status }) => status);
  const [inits, ephemeral] = [statuses("init", "sidecar"), statuses("ephemeral")];
  return {
    phase,
    conditions: conditionsFor(
      {
        pod,
        phase,
        members,
        prepared,
        isInitialized: initialized,
        isBeingSaved: isBeingSaved(record),
        state: stateConditions(pod, record, source.rules),
      },
      now,
    ),
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

/** Whether the Pod has this status. The API server adds fields that are null, such as `lastProbeTime` of conditions. */
export function isReported(pod: Pod, status: PodStatus): boolean {
  return semanticEqual({ ...pod.status, ...status }, pod.status, ["status"]);
}

/** Reports Succeeded or Failed only when no container runs any more, so that clients can rely on it. */
function reachedPhase(phase: Phase, members: readonly MemberStatus[]): Phase {
  const goesOn = members.some(({ status }) => status.state?.running !== undefined);
  if (!goesOn || phase === "Pending" || phase === "Running") return phase;
  const hasBegun = members.some(({ role, status }) => role === "main" && status.state?.waiting === undefined);
  return hasBegun ? "Running" : "Pending";
}
