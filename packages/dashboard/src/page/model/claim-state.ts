/** What a claim has got, in one word, and why not more. Pure. */
import { findCondition, kindOfTrouble, type SandboxClaim, troubleIn, whyNotReady } from "@agent-sandbox/api";
import type { Tone } from "../components/badge.tsx";

export interface ClaimState {
  readonly title: "Ready" | "Sleeping" | "Starting" | "Waiting" | "Failed" | "Expired" | "Finished" | "Releasing";
  readonly tone: Tone;
  readonly why?: string | undefined;
}

/** Reasons that stay until somebody changes something. */
const problems: readonly string[] = [
  "TemplateNotFound",
  "WarmPoolNotFound",
  "AdoptionConflict",
  "InvalidMetadata",
  "EnvVarsInjectionRejected",
  "VolumeClaimTemplatesError",
  "ReconcilerError",
  "PodFailed",
];

export function claimState(claim: SandboxClaim): ClaimState {
  const { metadata, status } = claim;
  if (metadata.deletionTimestamp !== undefined) return { title: "Releasing", tone: "neutral" };
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status === "True") return { title: "Ready", tone: "good" };
  const why = whyNotReady(claim);
  if (ready?.reason === "ClaimExpired") return { title: "Expired", tone: "neutral", why };
  if (findCondition(status?.conditions, "Finished")?.status === "True")
    return { title: "Finished", tone: "neutral", why };
  if (ready?.reason === "SandboxSuspended") return { title: "Sleeping", tone: "sleep", why };
  const trouble = troubleIn(ready?.message);
  const isFault = trouble !== undefined && kindOfTrouble(trouble) === "fault";
  if (isFault || problems.includes(ready?.reason ?? "")) return { title: "Failed", tone: "bad", why };
  return status?.sandbox?.name
    ? { title: "Starting", tone: "busy", why }
    : { title: "Waiting", tone: "busy", why: why ?? "no controller has seen it yet" };
}
