import {
  adaptMessage,
  type Condition,
  findCondition,
  nameHash,
  type ReportedCondition,
  type SandboxWarmPoolStatus,
  semanticEqual,
  setCondition,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import type { Observed } from "./observe.ts";

/** The status to report of the pool as it was found. */
export function statusOf(seen: Observed, { heldUp }: { heldUp: number }, now: number): SandboxWarmPoolStatus {
  return withVerdicts(seen, [templateFound(seen), ready(seen, heldUp)], now);
}

/** The status of a pool whose spec cannot be understood. */
export function misunderstoodStatus(seen: Observed, problem: string, now: number): SandboxWarmPoolStatus {
  const message = adaptMessage(`Error seen: ${problem}`);
  return withVerdicts(seen, [{ type: "Ready", status: "False", reason: "ReconcilerError", message }], now);
}

function withVerdicts(seen: Observed, verdicts: readonly ReportedCondition[], now: number): SandboxWarmPoolStatus {
  const { pool, members } = seen;
  const { generation, name = "" } = pool.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const conditions = verdicts.reduce<Condition[]>(
    (list, verdict) => setCondition(list, { ...verdict, ...observed }, now),
    pool.status?.conditions ?? [],
  );
  return {
    replicas: members.active,
    readyReplicas: members.ready,
    selector: `${warmPoolSandboxLabel}=${nameHash(name)}`,
    ...observed,
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

function ready(seen: Observed, heldUp: number): ReportedCondition {
  const { pool, blueprint, members, failure } = seen;
  const desired = desiredReplicas(seen);
  const say = (reason: string, message: string): ReportedCondition => ({
    type: "Ready",
    status: "False",
    reason,
    message: adaptMessage(message),
  });
  if (failure !== undefined) return say("ReconcilerError", `Error seen: ${failure}`);
  if (members.ready >= desired) return { ...say("MembersReady", "All members are Ready"), status: "True" };
  if (blueprint === undefined) return say("TemplateNotFound", missing(pool.spec.sandboxTemplateRef.name));
  if (heldUp > 0) return say("Unschedulable", `${heldUp} members cannot be scheduled`);
  return say("MembersNotReady", "Not all members are Ready yet");
}

/**
 * When the status is to be written. Counts that move while members come and go are written together, a little later; what
 * somebody may be waiting for is written at once.
 */
export function reportingTime(
  { pool, settings, memory }: Observed,
  status: SandboxWarmPoolStatus,
  now: number,
): number | undefined {
  const before = pool.status;
  if (semanticEqual(before, status, ["status"])) return undefined;
  const isNews =
    before?.conditions === undefined ||
    before.observedGeneration !== status.observedGeneration ||
    before.selector !== status.selector ||
    statusOfType(before, "TemplateFound") !== statusOfType(status, "TemplateFound") ||
    (statusOfType(status, "Ready") === "True" && status.replicas === (pool.spec.replicas ?? 1)) ||
    isTrouble(status);
  // A date that jumps back does not make it wait for longer.
  return isNews ? now : Math.min(memory.unreportedSince ?? now, now) + settings.statusLagMs;
}

function statusOfType({ conditions }: SandboxWarmPoolStatus, type: string): string | undefined {
  return findCondition(conditions, type)?.status;
}

function isTrouble({ conditions }: SandboxWarmPoolStatus): boolean {
  return ["ReconcilerError", "Unschedulable"].includes(findCondition(conditions, "Ready")?.reason ?? "");
}
