import {
  adaptMessage,
  type Condition,
  findCondition,
  kindOfTrouble,
  nameHash,
  type ReportedCondition,
  type SandboxWarmPoolStatus,
  setCondition,
  troubleIn,
  unscheduled,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import type { Observed } from "./observe.ts";
import { outdatedMembers } from "./upkeep.ts";

export interface Counted {
  /** Members that no node has room for. */
  readonly heldUp: number;
  /** Members that this pass adds. They exist when the status is written. */
  readonly added?: number;
}

export function statusOf(observed: Observed, { heldUp, added = 0 }: Counted, now: number): SandboxWarmPoolStatus {
  const counted = withConditions(observed, [templateFound(observed), ready(observed, heldUp)], now);
  const status = { ...counted, replicas: observed.members.active + added };
  const outdated = outdatedMembers(observed).length;
  return outdated === 0 ? status : { ...status, outdatedReplicas: outdated };
}

/** The status of a pool whose spec cannot be understood. */
export function errorStatus(observed: Observed, problem: string, now: number): SandboxWarmPoolStatus {
  const message = adaptMessage(`Error seen: ${problem}`);
  return withConditions(observed, [{ type: "Ready", status: "False", reason: "ReconcilerError", message }], now);
}

function withConditions(
  { pool, members }: Observed,
  reported: readonly ReportedCondition[],
  now: number,
): SandboxWarmPoolStatus {
  const { generation, name = "" } = pool.metadata;
  const observedGeneration = generation === undefined ? {} : { observedGeneration: generation };
  const conditions = reported.reduce<Condition[]>(
    (list, condition) => setCondition(list, { ...condition, ...observedGeneration }, now),
    pool.status?.conditions ?? [],
  );
  return {
    replicas: members.active,
    readyReplicas: members.ready,
    selector: `${warmPoolSandboxLabel}=${nameHash(name)}`,
    ...observedGeneration,
    conditions,
  };
}

export function desiredReplicas({ pool }: Observed): number {
  return pool.spec.replicas ?? 1;
}

function templateFound({ pool, blueprint }: Observed): ReportedCondition {
  const { name } = pool.spec.sandboxTemplateRef;
  return blueprint === undefined
    ? { type: "TemplateFound", status: "False", reason: "TemplateNotFound", message: missing(name) }
    : { type: "TemplateFound", status: "True", reason: "TemplateFound", message: "" };
}

const missing = (name: string): string => adaptMessage(`SandboxTemplate "${name}" not found`);

function ready(observed: Observed, heldUp: number): ReportedCondition {
  const { pool, blueprint, members, problem } = observed;
  const desired = desiredReplicas(observed);
  const notReady = (reason: string, message: string): ReportedCondition => ({
    type: "Ready",
    status: "False",
    reason,
    message: adaptMessage(message),
  });
  if (problem !== undefined) return notReady("ReconcilerError", `Error seen: ${problem}`);
  if (members.ready >= desired) return { ...notReady("MembersReady", "All members are Ready"), status: "True" };
  if (blueprint === undefined) return notReady("TemplateNotFound", missing(pool.spec.sandboxTemplateRef.name));
  const trouble = members.trouble(troubleOf(pool.status));
  if (heldUp > 0) return notReady("Unschedulable", `${heldUp} members ${schedulingText(trouble)}`);
  return notReady("MembersNotReady", `Not all members are Ready yet${trouble === undefined ? "" : `; ${trouble}`}`);
}

function schedulingText(trouble: string | undefined): string {
  return trouble !== undefined && kindOfTrouble(trouble) === "scheduling" ? trouble : unscheduled;
}

/** What the status says is wrong with members. */
export function troubleOf(status: SandboxWarmPoolStatus | undefined): string | undefined {
  return troubleIn(findCondition(status?.conditions, "Ready")?.message);
}

/** Whether the status says for the first time what is wrong with members. */
export function isNewTrouble(before: SandboxWarmPoolStatus | undefined, after: SandboxWarmPoolStatus): boolean {
  const trouble = troubleOf(after);
  return trouble !== undefined && trouble !== troubleOf(before);
}
