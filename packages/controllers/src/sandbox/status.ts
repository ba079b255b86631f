import {
  type Condition,
  findCondition,
  isConditionTrue,
  lastActivity,
  nameHash,
  removeCondition,
  type Sandbox,
  type SandboxStatus,
  sandboxNameHashLabel,
  semanticEqual,
  setCondition,
} from "@agent-sandbox/api";
import { type Findings, verdicts } from "./conditions.ts";
import { isUnreportedMember, type Observed } from "./observed.ts";
import type { Watched } from "./watched.ts";

/** How long the status may wait after the Pod got a node. Most Pods are ready by then. */
export const scheduledStatusWaitsMs = 10_000;

/** The whole status of a Sandbox that has not expired. */
export function statusOf(findings: Findings, now: number, clusterDomain: string): SandboxStatus {
  const { sandbox, found, service } = findings;
  const {
    podIPs: _ips,
    nodeName: _node,
    conditions: before,
    service: name,
    serviceFQDN,
    ...kept
  } = sandbox.status ?? {};
  const pod = found.type === "owned" ? found.pod : undefined;
  const addresses = pod?.status?.podIPs?.flatMap(({ ip }) => ip ?? []) ?? [];
  const activity = lastActivity(sandbox);
  // While several Pods are controlled by the Sandbox, its Service is not reconciled.
  const unchangedService = { ...(name && { service: name }), ...(serviceFQDN && { serviceFQDN }) };
  return {
    ...kept,
    ...(found.type === "several" && findings.sleep === undefined
      ? unchangedService
      : service.exists && serviceFields(sandbox, clusterDomain)),
    ...(found.type !== "none" && { selector: `${sandboxNameHashLabel}=${nameHash(sandbox.metadata.name ?? "")}` }),
    ...(addresses.length > 0 && { podIPs: addresses }),
    ...(pod?.spec?.nodeName && { nodeName: pod.spec.nodeName }),
    ...(activity && { lastActivityTime: activity }),
    ...(findings.suspension && { suspension: findings.suspension }),
    conditions: conditionsOf(findings, before, now),
  };
}

function conditionsOf(findings: Findings, before: readonly Condition[] | undefined, now: number): Condition[] {
  const reported = verdicts(findings);
  const absent = ["Finished", "PodScheduled", "Restored", "PodOutdated"].filter(
    (type) => !reported.some((verdict) => verdict.type === type),
  );
  const remaining = absent.reduce<Condition[]>(removeCondition, [...(before ?? [])]);
  return reported.reduce((list, verdict) => setCondition(list, verdict, now), remaining);
}

function serviceFields({ metadata }: Sandbox, clusterDomain: string): Pick<SandboxStatus, "service" | "serviceFQDN"> {
  const { name = "", namespace = "" } = metadata;
  return { service: name, serviceFQDN: `${name}.${namespace}.svc.${clusterDomain}` };
}

/**
 * How long the first status of a pool member may wait. Nobody waits for a member that is starting; where Pods start within this
 * time, the first status says that the member is ready. A claim may wait for a member that has an address.
 */
const memberStatusWaitsMs = { addressed: 1_000, starting: scheduledStatusWaitsMs };

/** How long the first status may still wait. Zero unless it is a new pool member whose Pod is starting normally. */
export function firstStatusWaitMs(
  { sandbox, watched }: Pick<Observed, "sandbox" | "watched">,
  after: SandboxStatus,
  isFaulty: boolean,
): number {
  if (!isUnreportedMember(sandbox)) return 0;
  const ready = findCondition(after.conditions, "Ready");
  const isStarting = ready?.status === "False" && ready.reason === "DependenciesNotReady";
  const isUnschedulable = findCondition(after.conditions, "PodScheduled")?.status === "False";
  if (!isStarting || isUnschedulable || isFaulty) return 0;
  const longestMs = memberStatusWaitsMs[after.podIPs === undefined ? "starting" : "addressed"];
  return Math.max(0, longestMs - (watched.unreported ?? 0));
}

/** Most Pods are saved or restored within this time. The status then reports the result only. */
const stateStatusWaitsMs = 500;

/** How long the status may still wait while the state driver saves or restores the Pod: the write would delay the driver. */
export function stateStatusWaitMs({ saving, restoring }: Watched): number {
  const times = [saving, restoring].filter((time) => time !== undefined);
  return times.length === 0 ? 0 : Math.max(0, stateStatusWaitsMs - Math.max(...times));
}

/**
 * How long the status may still wait when its only change is that the Pod of a Sandbox that is not ready has got a node. It is
 * then written with the next change, which is most often that the Pod is ready. Zero for any other change.
 */
export function statusWaitMs(before: SandboxStatus | undefined, after: SandboxStatus, watched: Watched): number {
  const scheduled = after.conditions?.find(({ type }) => type === "PodScheduled");
  if (before === undefined || scheduled?.status === "False" || isConditionTrue(after.conditions, "Ready")) return 0;
  if (semanticEqual(before, after, ["status"])) return 0;
  if (!semanticEqual(withoutScheduling(before), withoutScheduling(after), ["status"])) return 0;
  return Math.max(0, scheduledStatusWaitsMs - (watched.scheduled ?? 0));
}

function withoutScheduling(status: SandboxStatus): SandboxStatus {
  const { nodeName: _, conditions, ...rest } = status;
  const isKnown = conditions?.some(({ type }) => type === "PodScheduled");
  // That there is a Pod at all is a change that cannot wait.
  return { ...rest, conditions: removeCondition(conditions, "PodScheduled"), ...(isKnown && { nodeName: "some" }) };
}
