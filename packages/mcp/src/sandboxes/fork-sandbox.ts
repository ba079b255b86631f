import { randomUUID } from "node:crypto";
import { Deadline, forkOf, sandboxes, snapshots } from "@agent-sandbox/sdk/internal";
import type { Call } from "../caller.ts";
import { remove, untilReady } from "./create-sandbox.ts";
import { type FoundSandbox, handleOf } from "./found-sandbox.ts";
import { timeAfter } from "./lifetime.ts";
import { metadataOf } from "./new-objects.ts";

const requestMs = 60_000;
const startMs = 180_000;
/** If this process ends early, the snapshot goes after this time. */
const snapshotTtlSeconds = 3600;

export interface Forked {
  readonly sandbox: string;
  readonly namespace: string;
  readonly expires_at: string;
  readonly memory_kept: boolean;
}

/** A new sandbox that continues from the present state of another one. */
export async function forkSandbox(
  call: Call,
  source: FoundSandbox,
  options: { readonly name: string | undefined; readonly lifetime: number },
): Promise<Forked> {
  const { caller, signal } = call;
  const { namespace } = source;
  const { name = `sandbox-${randomUUID().slice(0, 8)}`, lifetime } = options;
  const handle = handleOf(caller, source);
  const doing = `Cannot fork sandbox "${source.name}"`;
  call.progress("taking a snapshot");
  const snapshot = await handle.snapshot({ ttlSeconds: snapshotTtlSeconds, signal });
  try {
    // Not the signal of the call: if it is cancelled now, the copy must be known to be deleted.
    using deadline = new Deadline({}, requestMs, doing);
    const original = await caller.api.get(sandboxes, { namespace, name: handle.name }, deadline);
    const shutdownTime = timeAfter(lifetime);
    const identity = { name, namespace, requestId: randomUUID(), now: Date.now() };
    const { spec, ...rest } = forkOf(original, { snapshot: snapshot.name }, identity);
    const metadata = metadataOf({ caller, namespace }, { name, timeoutSeconds: lifetime, onTimeout: "delete" });
    const wanted = { ...rest, metadata, spec: { ...spec, shutdownTime, shutdownPolicy: "Delete" } };
    const object = await caller.api.create(sandboxes, wanted, deadline);
    await untilReadyOrGone(call, { name, namespace, object });
    return { sandbox: name, namespace, expires_at: shutdownTime, memory_kept: snapshot.depth === "Memory" };
  } finally {
    using deadline = new Deadline({}, requestMs, doing);
    // The copy has its own data.
    await caller.api.delete(snapshots, { namespace, name: snapshot.name }, deadline).catch(() => undefined);
  }
}

async function untilReadyOrGone(call: Call, created: FoundSandbox): Promise<void> {
  try {
    await untilReady(call, created, startMs);
  } catch (error) {
    await remove(call, created).catch(() => undefined);
    throw error;
  }
}
