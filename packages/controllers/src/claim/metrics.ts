import {
  clientFirstRequestedAtAnnotation,
  controllerFirstObservedAtAnnotation,
  createdByLabel,
  findCondition,
  type LaunchType,
  launchTypeLabel,
  normaliseCreatedBy,
  parseTime,
  type Sandbox,
  type SandboxClaim,
  sandboxTemplateRefAnnotation,
  webhookFirstObservedAtAnnotation,
} from "@agent-sandbox/api";
import type { RunnerMetrics } from "@agent-sandbox/kube";
import { isReady } from "../warm-pool/members.ts";
import { type ClaimMemory, isClaimReady } from "./memory.ts";

/** A claim got its Sandbox: counted by `agent_sandbox_claim_creation_total`. */
export interface ClaimServed {
  readonly namespace: string;
  readonly sandboxTemplate: string;
  readonly launchType: LaunchType;
  readonly warmPoolName: string;
  readonly podCondition: "ready" | "not_ready";
  readonly createdBy: string;
}

/** A claim was Ready for the first time. Each duration is observed by the histogram in its comment; absent ones are not. */
export interface ClaimStarted {
  readonly namespace: string;
  readonly launchType: LaunchType;
  readonly sandboxTemplate: string;
  /** `agent_sandbox_claim_startup_latency_ms` */
  readonly sinceWebhookMs?: number;
  /** `agent_sandbox_claim_controller_startup_latency_ms` */
  readonly sinceObservedMs: number;
  /** `agent_sandbox_client_claim_startup_latency_ms` */
  readonly sinceRequestMs?: number;
  /** `agent_sandbox_creation_latency_ms`: how long the Sandbox took to become Ready, in its pool if it came from one. */
  readonly sandboxCreationMs?: number;
}

export interface ClaimMetrics extends RunnerMetrics {
  served?(claim: ClaimServed): void;
  started?(claim: ClaimStarted): void;
}

export function servedBy(claim: SandboxClaim, sandbox: Sandbox, warmPoolName: string): ClaimServed {
  const launchType = launchTypeOf(sandbox);
  return {
    namespace: claim.metadata.namespace ?? "",
    sandboxTemplate: templateOf(sandbox),
    launchType,
    warmPoolName,
    podCondition: launchType === "warm" && isReady(sandbox) ? "ready" : "not_ready",
    createdBy: normaliseCreatedBy(claim.metadata.labels?.[createdByLabel]) ?? "",
  };
}

interface Transition {
  readonly before: SandboxClaim;
  readonly after: SandboxClaim;
  readonly sandbox: Sandbox | undefined;
}

/** Measures a claim's start when it becomes Ready: once, and not when another process may have measured it. */
export function measureStart(
  { before, after, sandbox }: Transition,
  memory: ClaimMemory,
  { metrics, now }: { readonly metrics: ClaimMetrics | undefined; readonly now: number },
): ClaimMemory {
  const becameReady = isClaimReady(after) && !isClaimReady(before);
  if (!becameReady || sandbox === undefined || !memory.isMeasurable) return memory;
  metrics?.started?.(startOf(before, sandbox, { firstObservedAt: memory.firstObservedAt, now }));
  return { ...memory, isMeasurable: false, firstReadyAt: now };
}

/** Times are dates. */
function startOf(
  claim: SandboxClaim,
  sandbox: Sandbox,
  { firstObservedAt, now }: { firstObservedAt: number; now: number },
): ClaimStarted {
  const { annotations = {}, namespace = "" } = claim.metadata;
  const since = (text: string | undefined): number | undefined => {
    const time = parseTime(text ?? "");
    return "error" in time || time.epochMs > now ? undefined : now - time.epochMs;
  };
  const sinceWebhookMs = since(annotations[webhookFirstObservedAtAnnotation]);
  const sinceRequestMs = since(annotations[clientFirstRequestedAtAnnotation]);
  // An earlier leader may have annotated the claim when it observed it.
  const sinceObservedMs = since(annotations[controllerFirstObservedAtAnnotation]) ?? Math.max(0, now - firstObservedAt);
  const sandboxCreationMs = creationTime(sandbox);
  return {
    namespace,
    launchType: launchTypeOf(sandbox),
    sandboxTemplate: templateOf(sandbox),
    sinceObservedMs,
    ...(sinceWebhookMs === undefined ? {} : { sinceWebhookMs }),
    ...(sinceRequestMs === undefined ? {} : { sinceRequestMs }),
    ...(sandboxCreationMs === undefined ? {} : { sandboxCreationMs }),
  };
}

function creationTime({ metadata, status }: Sandbox): number | undefined {
  const [made, ready] = [
    metadata.creationTimestamp,
    findCondition(status?.conditions, "Ready")?.lastTransitionTime,
  ].map((time) => parseTime(time ?? ""));
  if (made === undefined || ready === undefined || "error" in made || "error" in ready) return undefined;
  return Math.max(0, ready.epochMs - made.epochMs);
}

function launchTypeOf({ metadata }: Sandbox): LaunchType {
  return metadata.labels?.[launchTypeLabel] === "warm" ? "warm" : "cold";
}

function templateOf({ metadata }: Sandbox): string {
  return metadata.annotations?.[sandboxTemplateRefAnnotation] ?? "__unknown__";
}
