/** What a sandbox does now, in one word, and why. Pure. */
import {
  findCondition,
  isPoolMember,
  kindOfTrouble,
  type Sandbox,
  sandboxTemplateRefAnnotation,
  sleepReason,
  troubleIn,
  whyNotReady,
} from "@agent-sandbox/api";
import type { Tone } from "../components/badge.tsx";

export const sandboxStates = ["running", "sleeping", "starting", "failed", "finished", "stopping"] as const;
export type SandboxState = (typeof sandboxStates)[number];

export interface StateOfSandbox {
  readonly state: SandboxState;
  /** Why it is not running, in one sentence. */
  readonly why?: string | undefined;
}

/** Reasons of the Ready condition that stay until somebody changes something. */
const failures: readonly string[] = ["PodFailed", "ReconcilerError"];

export function stateOf(sandbox: Sandbox): StateOfSandbox {
  const { metadata, status } = sandbox;
  if (metadata.deletionTimestamp !== undefined) return { state: "stopping", why: "it is being deleted" };
  const ready = findCondition(status?.conditions, "Ready");
  const sleep = sleepReason(sandbox);
  if (sleep !== undefined) {
    const isAsleep = findCondition(status?.conditions, "Suspended")?.status === "True";
    const why = sleep === "idle" ? "it was idle" : "it was suspended";
    return { state: "sleeping", why: isAsleep ? why : `${why}, and is being saved` };
  }
  if (ready?.status === "True") return { state: "running" };
  const why = whyNotReady(sandbox);
  if (ready?.reason === "SandboxExpired") return { state: "finished", why };
  const finished = findCondition(status?.conditions, "Finished");
  if (finished?.status === "True" && finished.reason === "PodSucceeded") return { state: "finished", why };
  if (finished?.status === "True" || failures.includes(ready?.reason ?? "")) return { state: "failed", why };
  const trouble = troubleIn(ready?.message);
  if (trouble !== undefined && kindOfTrouble(trouble) === "fault") return { state: "failed", why };
  return { state: "starting", why };
}

export const toneOfState: Readonly<Record<SandboxState, Tone>> = {
  running: "good",
  sleeping: "sleep",
  starting: "busy",
  failed: "bad",
  finished: "neutral",
  stopping: "neutral",
};

export const titleOfState: Readonly<Record<SandboxState, string>> = {
  running: "Running",
  sleeping: "Sleeping",
  starting: "Starting",
  failed: "Failed",
  finished: "Finished",
  stopping: "Stopping",
};

export function countStates(sandboxes: readonly Sandbox[]): Readonly<Record<SandboxState, number>> {
  const counts = { running: 0, sleeping: 0, starting: 0, failed: 0, finished: 0, stopping: 0 };
  for (const sandbox of sandboxes) counts[knownState(sandbox).state]++;
  return counts;
}

const known = new WeakMap<Sandbox, StateOfSandbox>();

/** `stateOf`, computed once for each version of an object: with thousands of sandboxes few change per frame. */
export function knownState(sandbox: Sandbox): StateOfSandbox {
  const found = known.get(sandbox) ?? stateOf(sandbox);
  known.set(sandbox, found);
  return found;
}

/** Where a sandbox comes from: a claim, a pool or a template. Undefined: it was created on its own. */
export function originOf(sandbox: Sandbox): string | undefined {
  const { ownerReferences = [], annotations } = sandbox.metadata;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  if (owner !== undefined && isPoolMember(sandbox)) return `pool ${owner.name}`;
  if (owner?.kind === "SandboxClaim") return `claim ${owner.name}`;
  const template = annotations?.[sandboxTemplateRefAnnotation];
  return template === undefined ? undefined : `template ${template}`;
}

export function imageOf({ spec }: Sandbox): string {
  return spec.podTemplate?.spec?.containers?.[0]?.image ?? "";
}
