/**
 * Carries out the actions of the page of a sandbox, and reports progress until they are done. Rejects with the server's message. Each
 * changes only the object that the page showed, not a newer one of the same name: its UID differs.
 */
import { type Sandbox, type SandboxClaim, type SandboxSnapshot, trackedPodName } from "@agent-sandbox/api";
import { type ApiClient, ApiError } from "../../data/api-client.ts";
import {
  type KubeObject,
  pods,
  type Resource,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
} from "../../data/resources.ts";
import { ownerClaim } from "../origin.ts";
import { lifetimePatch } from "./lifetime.ts";
import { type Outcome, running, snapshotTaken, suspended } from "./progress.ts";
import { setMode } from "./set-mode.ts";
import { Failure, until } from "./wait.ts";

export interface Task {
  readonly api: ApiClient;
  readonly sandbox: Sandbox;
  readonly onProgress: (text: string) => void;
}

function placeOf({ metadata }: Sandbox): { readonly namespace: string | undefined; readonly name: string } {
  return { namespace: metadata.namespace, name: metadata.name ?? "" };
}

async function untilIt({ api, sandbox, onProgress }: Task, outcomeOf: (now: Sandbox) => Outcome): Promise<void> {
  await until(async () => {
    const now = await api.get(sandboxes, placeOf(sandbox));
    if (now.metadata.uid !== sandbox.metadata.uid) throw new Failure("It was deleted, and a new sandbox has its name");
    return outcomeOf(now);
  }, onProgress);
}

export async function suspend(task: Task): Promise<void> {
  await setMode(task.api, task.sandbox, "suspend");
  await untilIt(task, suspended);
}

export async function resume(task: Task): Promise<void> {
  await setMode(task.api, task.sandbox, "resume");
  await untilIt(task, running);
}

/** Replaces the Pod. Files, volumes and the address stay; processes end. */
export async function restart(task: Task): Promise<void> {
  const { api, sandbox, onProgress } = task;
  const place = { namespace: sandbox.metadata.namespace, name: trackedPodName(sandbox) };
  const read = () => find(api, pods, place);
  const old = (await read())?.metadata?.uid;
  if (old !== undefined) await api.delete(pods, place, { uid: old }).catch(ignoreMissing);
  await until(async () => {
    const pod = await read();
    if (pod === undefined || pod.metadata?.uid === old) return { type: "waiting", why: "stopping" };
    return { type: "done" };
  }, onProgress);
  await untilIt(task, running);
}

export async function remove({ api, sandbox, onProgress }: Task): Promise<void> {
  const place = placeOf(sandbox);
  const claim = ownerClaim(sandbox);
  if (claim === undefined) await api.delete(sandboxes, place, { uid: sandbox.metadata.uid });
  else await api.delete(sandboxClaims, { namespace: place.namespace, name: claim.name }, { uid: claim.uid });
  await until(async () => {
    const left = await find(api, sandboxes, place);
    const isGone = left === undefined || left.metadata.uid !== sandbox.metadata.uid;
    return isGone ? { type: "done" } : { type: "waiting", why: "stopping its processes" };
  }, onProgress);
}

export async function extend(task: Task, time: string | undefined, claim: SandboxClaim | undefined): Promise<void> {
  const { api, sandbox } = task;
  const place = placeOf(sandbox);
  const owner = ownerClaim(sandbox);
  const { uid } = owner ?? sandbox.metadata;
  const patch = { metadata: { uid }, ...lifetimePatch(sandbox, time, claim) };
  if (owner === undefined) await api.patch(sandboxes, place, patch);
  else await api.patch(sandboxClaims, { ...place, name: owner.name }, patch);
}

export interface SnapshotChoices {
  readonly name: string;
  readonly depth?: "Memory" | "Filesystem";
  readonly ttlSeconds?: number;
}

export async function takeSnapshot(task: Task, { name, depth, ttlSeconds }: SnapshotChoices): Promise<SandboxSnapshot> {
  const { api, sandbox, onProgress } = task;
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
    await until(async () => snapshotTaken(await api.get(sandboxSnapshots, { namespace, name })), onProgress);
  } catch (error) {
    // A failed snapshot is deleted, so that its name is free. One that is still being taken may become ready.
    if (error instanceof Failure) await removeQuietly(task, sandboxSnapshots, created);
    throw error;
  }
  return created;
}

/** If the page is closed in between, the snapshot is deleted after this time. */
const forkSnapshotSeconds = 3600;

/** A new sandbox that continues from the state of this one. It has its own copy, so the snapshot in between is deleted. */
export async function fork(task: Task, name: string): Promise<void> {
  const { api, sandbox, onProgress } = task;
  const { namespace = "" } = sandbox.metadata;
  const snapshot = `${sandbox.metadata.name}-fork-${crypto.randomUUID().slice(0, 8)}`;
  const taken = await takeSnapshot(task, { name: snapshot, ttlSeconds: forkSnapshotSeconds });
  let created: Sandbox | undefined;
  try {
    created = await api.create(sandboxes, forkOf(sandbox, { name, snapshot }));
    await until(async () => running(await api.get(sandboxes, { namespace, name }), snapshot), onProgress);
  } catch (error) {
    // A fork that is still starting needs the snapshot.
    if (created !== undefined && !(error instanceof Failure)) throw error;
    if (created !== undefined) await removeQuietly(task, sandboxes, created);
    await removeQuietly(task, sandboxSnapshots, taken);
    throw error;
  }
  await removeQuietly(task, sandboxSnapshots, taken);
}

/** Ignores errors: they are not the reason why the action failed. */
async function removeQuietly({ api }: Task, resource: Resource<KubeObject>, { metadata }: KubeObject): Promise<void> {
  const { namespace, name = "", uid } = metadata ?? {};
  await api.delete(resource, { namespace, name }, { uid }).catch(() => undefined);
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

/** Undefined: it does not exist. Browsers log a response with the status 404 as an error, so it is looked for in a list. */
async function find<T extends KubeObject>(
  api: ApiClient,
  resource: Resource<T>,
  { namespace, name }: ReturnType<typeof placeOf>,
): Promise<T | undefined> {
  const { items } = await api.list(resource, { namespace, fieldSelector: `metadata.name=${name}` });
  return items[0];
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.status !== 404) throw error;
  return undefined;
}
