/** Whether a snapshot can be used, in one word, and why not. Pure. */
import { findCondition, type Sandbox, type SandboxSnapshot } from "@agent-sandbox/api";
import type { Tone } from "../components/badge.tsx";

export interface SnapshotState {
  readonly title: "Ready" | "Taking" | "Failed" | "Not restorable" | "Deleting";
  readonly tone: Tone;
  readonly why?: string | undefined;
}

export function snapshotState({ metadata, status }: SandboxSnapshot): SnapshotState {
  if (metadata.deletionTimestamp !== undefined) return { title: "Deleting", tone: "neutral" };
  const failed = findCondition(status?.conditions, "Failed");
  if (failed?.status === "True") return { title: "Failed", tone: "bad", why: failed.message || failed.reason };
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status !== "True") return { title: "Taking", tone: "busy", why: ready?.message };
  if (status?.restorable === false) {
    const { message, reason } = findCondition(status.conditions, "Restorable") ?? {};
    return { title: "Not restorable", tone: "warn", why: message || reason };
  }
  return { title: "Ready", tone: "good" };
}

/** The name of the Sandbox that was captured, or will be. Undefined: it is that of a claim which is not known yet. */
export function sourceOf({ spec, status }: SandboxSnapshot): string | undefined {
  return status?.sourceName ?? spec.sandboxRef?.name;
}

/** A new Sandbox with the spec of the source. Its lifetime and operating mode are its own. */
export function forkOf(
  source: Sandbox,
  { name, snapshot }: { readonly name: string; readonly snapshot: string },
): Sandbox {
  const { apiVersion, kind, metadata, spec } = source;
  const { operatingMode: _mode, shutdownTime: _time, ...kept } = spec;
  const restoreFrom = { snapshotRef: { name: snapshot } };
  const { namespace } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    spec: { ...kept, restoreFrom },
  };
}
