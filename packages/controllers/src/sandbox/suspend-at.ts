import { parseTime, runSecondsAnnotation, type Sandbox, suspendAtAnnotation } from "@agent-sandbox/api";
import type { Action } from "./action.ts";

/** What a Sandbox's annotations say about its next suspension: what to write now, or when to look again. */
export interface Schedule {
  readonly action?: Action;
  readonly at?: number;
}

const maxRunSeconds = 365 * 86_400;

/**
 * `suspend-at` suspends the Sandbox once, as its author could, and is removed then. With `run-seconds`, a Sandbox that is resumed gets a new
 * one. Values that cannot be understood are ignored.
 */
export function scheduleOf({ metadata, spec }: Sandbox, now: number): Schedule {
  const { annotations = {} } = metadata;
  const isSuspended = spec?.operatingMode === "Suspended";
  const text = annotations[suspendAtAnnotation];
  // Otherwise it would suspend the Sandbox again when it is resumed.
  if (isSuspended) return text === undefined ? {} : { action: change({ suspendAt: null }) };
  const at = timeOf(text);
  if (at !== undefined && now >= at) return { action: change({ suspendAt: null, operatingMode: "Suspended" }) };
  if (at !== undefined) return { at };
  const seconds = runSecondsOf(annotations[runSecondsAnnotation]);
  if (text !== undefined || seconds === undefined) return {};
  return { action: change({ suspendAt: new Date(now + seconds * 1000).toISOString() }) };
}

/** Whether the time has passed by this machine's clock. */
export function seemsDue(sandbox: Sandbox, now: number): boolean {
  const at = timeOf(sandbox.metadata.annotations?.[suspendAtAnnotation]);
  return at !== undefined && now >= at && sandbox.spec?.operatingMode !== "Suspended";
}

function change({
  suspendAt,
  operatingMode,
}: {
  readonly suspendAt: string | null;
  readonly operatingMode?: "Suspended";
}): Action {
  const metadata = { annotations: { [suspendAtAnnotation]: suspendAt } };
  return { do: "patch-sandbox", body: { metadata, ...(operatingMode && { spec: { operatingMode } }) } };
}

function timeOf(text: string | undefined): number | undefined {
  const time = parseTime(text ?? "");
  return "error" in time ? undefined : time.epochMs;
}

function runSecondsOf(text: string | undefined): number | undefined {
  const seconds = /^\d{1,9}$/.test(text ?? "") ? Number(text) : 0;
  return seconds >= 1 && seconds <= maxRunSeconds ? seconds : undefined;
}
