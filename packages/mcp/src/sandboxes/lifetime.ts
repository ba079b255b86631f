import { runSecondsAnnotation, suspendAtAnnotation } from "@agent-sandbox/api";
import { claims, Deadline, sandboxes } from "@agent-sandbox/sdk/internal";
import type { Call } from "../caller.ts";
import { type FoundSandbox, holderOf } from "./found-sandbox.ts";

export type OnTimeout = "delete" | "pause";

const callMs = 60_000;

/** What the deadline of a sandbox does. */
export function onTimeoutOf({ object }: FoundSandbox): OnTimeout {
  return object?.metadata.annotations?.[runSecondsAnnotation] === undefined ? "delete" : "pause";
}

/** When the sandbox is deleted or paused. */
export function expiryOf({ claim, object }: FoundSandbox): Date | undefined {
  const time =
    object?.metadata.annotations?.[suspendAtAnnotation] ??
    claim?.spec.lifecycle?.shutdownTime ??
    object?.spec.shutdownTime;
  return time === undefined ? undefined : new Date(time);
}

/** In whole seconds, as the API has them. */
export function timeAfter(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+/, "");
}

/** Annotations of a Sandbox that is paused after this time, and again after each resume. */
export function pauseAnnotations(seconds: number): Record<string, string> {
  return { [suspendAtAnnotation]: timeAfter(seconds), [runSecondsAnnotation]: String(seconds) };
}

/** Moves the deadline to this time from now. */
export async function setExpiry(call: Call, found: FoundSandbox, seconds: number): Promise<Date> {
  const { api } = call.caller;
  const { namespace, claim, object } = found;
  using deadline = new Deadline({ signal: call.signal }, callMs, `Cannot extend sandbox "${found.name}"`);
  const { name = "", uid } = holderOf(found).metadata;
  const shutdownTime = timeAfter(seconds);
  if (onTimeoutOf(found) === "pause" && object !== undefined) {
    const annotations = pauseAnnotations(seconds);
    // A paused sandbox gets its time when it is resumed.
    const isPaused = object.spec.operatingMode === "Suspended";
    const changed = isPaused ? { [runSecondsAnnotation]: String(seconds) } : annotations;
    const place = { namespace, name: object.metadata.name ?? "" };
    await api.patch(sandboxes, place, { metadata: { uid: object.metadata.uid, annotations: changed } }, deadline);
  } else if (claim === undefined) {
    await api.patch(sandboxes, { namespace, name }, { metadata: { uid }, spec: { shutdownTime } }, deadline);
  } else {
    const patch = { metadata: { uid }, spec: { lifecycle: { shutdownTime } } };
    await api.patch(claims, { namespace, name }, patch, deadline);
  }
  return new Date(shutdownTime);
}

/** Makes the deadline of a claimed sandbox pause it. Until then it is deleted at that time. */
export async function pauseAtDeadline(call: Call, found: FoundSandbox, seconds: number): Promise<void> {
  const { api } = call.caller;
  const { namespace, claim, object } = found;
  if (object === undefined || claim === undefined) return;
  using deadline = new Deadline({ signal: call.signal }, callMs, `Cannot set the deadline of sandbox "${found.name}"`);
  const annotations = { metadata: { uid: object.metadata.uid, annotations: pauseAnnotations(seconds) } };
  await api.patch(sandboxes, { namespace, name: object.metadata.name ?? "" }, annotations, deadline);
  const noDeadline = { metadata: { uid: claim.metadata.uid }, spec: { lifecycle: { shutdownTime: null } } };
  await api.patch(claims, { namespace, name: claim.metadata.name ?? "" }, noDeadline, deadline);
}
