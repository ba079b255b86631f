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
import { isUnreportedMember } from "./observed.ts";
import type { Watched } from "./watched.ts";

/** How long news that a Pod has a node may wait for better news. Most Pods are ready by then. */
export const scheduledNewsWaitsMs = 10_000;

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
  // While several Pods claim to be the Sandbox, nobody has looked at its Service.
  const unseenService = { ...(name && { service: name }), ...(serviceFQDN && { serviceFQDN }) };
  return {
    ...kept,
    ...(found.type === "several" && findings.sleep === undefined
      ? unseenService
      : service.exists && serviceFields(sandbox, clusterDomain)),
    ...(found.type !== "none" && { selector: `${sandboxNameHashLabel}=${nameHash(sandbox.metadata.name ?? "")}` }),
    ...(addresses.length > 0 && { podIPs: addresses }),
    ...(pod?.spec?.nodeName && { nodeName: pod.spec.nodeName }),
    ...(activity && { lastActivityTime: activity }),
    conditions: conditionsOf(findings, before, now),
  };
}

function conditionsOf(findings: Findings, before: readonly Condition[] | undefined, now: number): Condition[] {
  const seen = verdicts(findings);
  const absent = ["Finished", "PodScheduled"].filter((type) => !seen.some((verdict) => verdict.type === type));
  const remaining = absent.reduce<Condition[]>(removeCondition, [...(before ?? [])]);
  return seen.reduce((list, verdict) => setCondition(list, verdict, now), remaining);
}

function serviceFields({ metadata }: Sandbox, clusterDomain: string): Pick<SandboxStatus, "service" | "serviceFQDN"> {
  const { name = "", namespace = "" } = metadata;
  return { service: name, serviceFQDN: `${name}.${namespace}.svc.${clusterDomain}` };
}

/**
 * How long the first word on a pool's member may wait. Nobody waits for one that is starting; where Pods start within this, its
 * first word is that it is ready.
 */
export const memberNewsWaitsMs = 1_000;

/** Zero unless it is a pool's new member whose Pod starts as it should. */
export function firstNewsCanWaitMs(sandbox: Sandbox, after: SandboxStatus, watched: Watched): number {
  if (!isUnreportedMember(sandbox)) return 0;
  const ready = findCondition(after.conditions, "Ready");
  const isStarting = ready?.status === "False" && ready.reason === "DependenciesNotReady";
  const isUnschedulable = findCondition(after.conditions, "PodScheduled")?.status === "False";
  return isStarting && !isUnschedulable ? Math.max(0, memberNewsWaitsMs - (watched.unreported ?? 0)) : 0;
}

/**
 * Whether the only news is that the Pod of a Sandbox that is not ready has got a node: it rides on the next change, which
 * is most often that the Pod is ready. Zero: it has waited long enough, or is no such news.
 */
export function newsCanWaitMs(before: SandboxStatus | undefined, after: SandboxStatus, watched: Watched): number {
  const scheduled = after.conditions?.find(({ type }) => type === "PodScheduled");
  if (before === undefined || scheduled?.status === "False" || isConditionTrue(after.conditions, "Ready")) return 0;
  if (semanticEqual(before, after, ["status"])) return 0;
  if (!semanticEqual(withoutScheduling(before), withoutScheduling(after), ["status"])) return 0;
  return Math.max(0, scheduledNewsWaitsMs - (watched.scheduled ?? 0));
}

function withoutScheduling(status: SandboxStatus): SandboxStatus {
  const { nodeName: _, conditions, ...rest } = status;
  const isKnown = conditions?.some(({ type }) => type === "PodScheduled");
  // That there is a Pod at all is news.
  return { ...rest, conditions: removeCondition(conditions, "PodScheduled"), ...(isKnown && { nodeName: "some" }) };
}
