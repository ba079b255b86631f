/** Carries out the actions of the page of a sandbox, and reports progress until they are done. Rejects with the server's sentence. */
import {
  activityChange,
  type Sandbox,
  type SandboxClaim,
  type SandboxSnapshot,
  trackedPodName,
} from "@agent-sandbox/api";
import { type ApiClient, ApiError } from "../../data/api-client.ts";
import { pods, sandboxClaims, sandboxes, sandboxSnapshots } from "../../data/resources.ts";
import { ownerClaim } from "../origin.ts";
import { lifetimePatch } from "./lifetime.ts";
import { type Outcome, running, snapshotTaken, suspended } from "./progress.ts";

export interface Task {
  readonly api: ApiClient;
  readonly sandbox: Sandbox;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

const everyMs = 400;
const longestMs = 300_000;

async function until(read: () => Promise<Outcome>, { onProgress, signal }: Task): Promise<void> {
  const deadline = Date.now() + longestMs;
  for (;;) {
    const outcome = await read();
    if (outcome.type === "done") return;
    if (outcome.type === "failed") throw new Error(outcome.why);
    onProgress(outcome.why);
    if (Date.now() > deadline) throw new Error(`It takes longer than five minutes: ${outcome.why}`);
    await pause(everyMs, signal);
  }
}

function placeOf({ metadata }: Sandbox): { readonly namespace: string | undefined; readonly name: string } {
  return { namespace: metadata.namespace, name: metadata.name ?? "" };
}

export async function suspend(task: Task): Promise<void> {
  const place = placeOf(task.sandbox);
  await task.api.patch(sandboxes, place, { spec: { operatingMode: "Suspended" } });
  await until(async () => suspended(await task.api.get(sandboxes, place, task.signal)), task);
}

/** Recorded activity wakes a sandbox that was idle. */
export async function resume(task: Task): Promise<void> {
  const place = placeOf(task.sandbox);
  const { body } = activityChange(task.sandbox, Date.now());
  await task.api.patch(sandboxes, place, { ...body, spec: { operatingMode: "Running" } });
  await until(async () => running(await task.api.get(sandboxes, place, task.signal)), task);
}

/** Replaces the Pod. Files, volumes and the address stay; processes end. */
export async function restart(task: Task): Promise<void> {
  const { api, sandbox, signal } = task;
  const place = { namespace: sandbox.metadata.namespace, name: trackedPodName(sandbox) };
  const read = () => api.get(pods, place, signal).catch(ignoreMissing);
  const old = (await read())?.metadata?.uid;
  if (old !== undefined) await api.delete(pods, place, { uid: old }).catch(ignoreMissing);
  await until(async () => {
    const pod = await read();
    if (pod === undefined || pod.metadata?.uid === old) return { type: "waiting", why: "stopping" };
    return running(await api.get(sandboxes, placeOf(sandbox), signal));
  }, task);
}

export async function remove(task: Task): Promise<void> {
  const { api, sandbox, signal } = task;
  const place = placeOf(sandbox);
  const claim = ownerClaim(sandbox);
  if (claim === undefined) await api.delete(sandboxes, place, { uid: sandbox.metadata.uid });
  else await api.delete(sandboxClaims, { namespace: place.namespace, name: claim.name }, { uid: claim.uid });
  await until(async () => {
    const left = await api.get(sandboxes, place, signal).catch(ignoreMissing);
    const isGone = left === undefined || left.metadata.uid !== sandbox.metadata.uid;
    return isGone ? { type: "done" } : { type: "waiting", why: "stopping its processes" };
  }, task);
}

export async function extend(task: Task, time: string | undefined, claim: SandboxClaim | undefined): Promise<void> {
  const patch = lifetimePatch(task.sandbox, time, claim);
  const place = placeOf(task.sandbox);
  const owner = ownerClaim(task.sandbox);
  if (owner === undefined) await task.api.patch(sandboxes, place, patch);
  else await task.api.patch(sandboxClaims, { ...place, name: owner.name }, patch);
}

export interface SnapshotChoices {
  readonly name: string;
  readonly depth?: "Memory" | "Filesystem";
  readonly ttlSeconds?: number;
}

export async function takeSnapshot(task: Task, { name, depth, ttlSeconds }: SnapshotChoices): Promise<SandboxSnapshot> {
  const { api, sandbox, signal } = task;
  const { namespace = "" } = sandbox.metadata;
  const created = await api.create(sandboxSnapshots, {
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    metadata: { name, namespace },
    spec: {
      sandboxRef: { name: sandbox.metadata.name ?? "" },
      ...(depth && { depth }),
      ...(ttlSeconds !== undefined && { ttlSecondsAfterCreation: ttlSeconds }),
    },
  });
  try {
    await until(async () => snapshotTaken(await api.get(sandboxSnapshots, { namespace, name }, signal)), task);
  } catch (error) {
    // A snapshot that failed is of no use, and would take its name.
    await api.delete(sandboxSnapshots, { namespace, name }, { uid: created.metadata.uid }).catch(() => undefined);
    throw error;
  }
  return api.get(sandboxSnapshots, { namespace, name });
}

/** If the page is closed in between, the snapshot is deleted after this time. */
const forkSnapshotSeconds = 3600;

/** A new sandbox that continues from the state of this one. It has its own copy, so the snapshot in between is deleted. */
export async function fork(task: Task, name: string): Promise<void> {
  const { api, sandbox, signal } = task;
  const { namespace = "" } = sandbox.metadata;
  const snapshot = `${sandbox.metadata.name}-fork-${crypto.randomUUID().slice(0, 8)}`;
  const taken = await takeSnapshot(task, { name: snapshot, ttlSeconds: forkSnapshotSeconds });
  try {
    const created = await api.create(sandboxes, forkOf(sandbox, { name, snapshot }));
    try {
      await until(async () => running(await api.get(sandboxes, { namespace, name }, signal), snapshot), task);
    } catch (error) {
      await api.delete(sandboxes, { namespace, name }, { uid: created.metadata.uid }).catch(() => undefined);
      throw error;
    }
  } finally {
    await api
      .delete(sandboxSnapshots, { namespace, name: snapshot }, { uid: taken.metadata.uid })
      .catch(() => undefined);
  }
}

/** With the spec of the source. Its metadata, lifetime and operating mode are its own: labels may say who owns the source. */
export function forkOf(
  source: Sandbox,
  { name, snapshot }: { readonly name: string; readonly snapshot: string },
): Sandbox {
  const { apiVersion, kind, metadata, spec } = source;
  const { operatingMode: _mode, shutdownTime: _time, ...kept } = spec;
  const namespace = metadata.namespace ?? "";
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: { ...kept, restoreFrom: { snapshotRef: { name: snapshot } } },
  };
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.status !== 404) throw error;
  return undefined;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
