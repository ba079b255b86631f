import { type SandboxSnapshot, type SandboxSnapshotStatus, sandboxSnapshots, semanticEqual } from "@agent-sandbox/api";
import {
  type Client,
  Controller,
  type EventRecorder,
  Fence,
  Informers,
  isReason,
  type Logger,
  type Pass,
  reconciler,
} from "@agent-sandbox/kube";
import type { Machine } from "../pod/machine.ts";
import { type AdmissionRequest, admitSnapshot } from "./admit-snapshot.ts";
import { readCpuFeatures } from "./cpu-features.ts";
import { type CaptureProblem, decideSnapshot, type ObservedSnapshot, type SnapshotAction } from "./decide-snapshot.ts";
import { checkPlace, readMeta } from "./image-meta.ts";
import type { SnapshotNeeds } from "./snapshot-room.ts";
import { findSource } from "./snapshot-source.ts";
import { type SnapshotStore, type StoredSnapshot, snapshotFolder } from "./snapshot-store.ts";
import { StateError } from "./state-error.ts";
import { continueProcesses } from "./stop-processes.ts";
import { copySuspended } from "./suspended-snapshot.ts";
import { takeInTurn } from "./take-in-turn.ts";
import { resumePod } from "./take-snapshot.ts";

export interface SnapshotControllerOptions {
  readonly client: Client;
  readonly machine: Machine;
  readonly nodeName: string;
  readonly events: Pick<EventRecorder, "record">;
  readonly log: Logger;
}

/** Takes, keeps and removes the snapshots of Sandboxes on this node. */
export class SnapshotController implements AsyncDisposable {
  readonly #options: SnapshotControllerOptions;
  readonly #owned = new AsyncDisposableStack();

  constructor(options: SnapshotControllerOptions) {
    this.#options = options;
    const { client, log } = options;
    const informers = this.#owned.use(new Informers({ client, log }));
    const snapshots = informers.get(sandboxSnapshots);
    this.#owned.use(
      Controller.start({
        name: "snapshot",
        client,
        fence: this.#owned.use(new Fence({ informers })),
        workers: 2,
        // A capture can be slow: one namespace must not occupy all workers.
        workersPerNamespace: 1,
        primary: snapshots,
        log,
        reconcile: reconciler<SandboxSnapshot, ObservedSnapshot, SnapshotAction, SandboxSnapshotStatus, undefined>({
          primary: snapshots,
          initialMemory: () => undefined,
          observe: (key) => this.#observe(snapshots.get(key)),
          decide: decideSnapshot,
          perform: (action, observed, pass) => this.#perform(action, observed, pass),
          writeStatus,
          describe: (action) => ({ do: action.do }),
        }),
      }),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  async #observe(snapshot: SandboxSnapshot | undefined): Promise<ObservedSnapshot | undefined> {
    if (snapshot === undefined) return undefined;
    const { machine, nodeName } = this.#options;
    const stored = await machine.snapshots.read(snapshot.metadata.uid ?? "");
    const obstacle = stored && (await obstacleTo(machine, stored));
    return { snapshot, nodeName, stored, isRestorable: stored !== undefined && obstacle === undefined, obstacle };
  }

  async #perform(
    action: SnapshotAction,
    observed: ObservedSnapshot,
    pass: Pass,
  ): Promise<ObservedSnapshot | undefined> {
    const { snapshot } = observed;
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = snapshot.metadata;
    const preconditions = { uid, resourceVersion };
    const place = { namespace, name };
    switch (action.do) {
      case "hold":
      case "release": {
        const { do: _, ...metadata } = action;
        const patch = { type: "merge", body: { metadata }, preconditions } as const;
        return { ...observed, snapshot: pass.ownWrite(await pass.client.patch(sandboxSnapshots, place, patch)) };
      }
      case "capture":
        return this.#capture(observed, pass.client);
      case "remove-files":
        await this.#options.machine.snapshots.remove(uid);
        return observed;
      case "delete":
        await pass.client.delete(sandboxSnapshots, place, { preconditions: { uid } });
        return undefined;
      default:
        return action satisfies never;
    }
  }

  async #capture(observed: ObservedSnapshot, client: Client): Promise<ObservedSnapshot> {
    const { machine, log } = this.#options;
    const { snapshot } = observed;
    try {
      const stored = await this.#take(snapshot, client);
      const { namespace, name, sizeBytes, pauseMs } = stored;
      log.info({ snapshot: `${namespace}/${name}`, sizeBytes, pauseMs }, "snapshot taken");
      const obstacle = await obstacleTo(machine, stored);
      return { ...observed, stored, isRestorable: obstacle === undefined, obstacle };
    } catch (error) {
      if (!(error instanceof StateError)) throw error;
      return { ...observed, problem: problemOf(error) };
    }
  }

  async #take(snapshot: SandboxSnapshot, client: Client): Promise<StoredSnapshot> {
    const { machine } = this.#options;
    const source = await findSource({ machine, client }, snapshot);
    const store = machine.snapshots;
    const { namespace = "", uid: key = "" } = snapshot.metadata;
    const sandboxUid = source.sandbox.metadata.uid ?? "";
    const admit = (needs: SnapshotNeeds): Promise<void> =>
      this.#admit(snapshot, client, { key, namespace, sandboxUid, ...needs });
    const common = { machine, client, store, snapshot, admit };
    try {
      if (source.pod === undefined) return await copySuspended({ ...common, sandbox: source.sandbox });
      return await takeInTurn({ ...common, ...source });
    } finally {
      machine.snapshotRoom.release(key);
    }
  }

  async #admit(snapshot: SandboxSnapshot, client: Client, request: AdmissionRequest): Promise<void> {
    const { machine, events } = this.#options;
    const deleted = await admitSnapshot({ client, store: machine.snapshots, room: machine.snapshotRoom }, request);
    for (const name of deleted) {
      const text = `Deleted SandboxSnapshot "${name}" to make room for this one`;
      events.record(sandboxSnapshots, snapshot, { type: "Normal", reason: "SnapshotEvicted", action: "Evict", text });
    }
  }
}

/** A source that does not run may start. Everything else would fail again in the same way. */
function problemOf({ reason, message }: StateError): CaptureProblem {
  return { reason, message, isFinal: reason !== "SourceNotRunning" };
}

async function writeStatus(
  status: SandboxSnapshotStatus,
  { snapshot }: ObservedSnapshot,
  { client, ownWrite }: Pass,
): Promise<SandboxSnapshot | undefined> {
  if (semanticEqual(snapshot.status, status, ["status"])) return undefined;
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = snapshot.metadata;
  const patch = { type: "merge", body: { status }, preconditions: { uid, resourceVersion } } as const;
  return client
    .patch(sandboxSnapshots, { namespace, name }, patch, { subresource: "status" })
    .then(ownWrite, (error: unknown) => {
      // The next pass decides on the new version.
      if (isReason(error, "Conflict", "NotFound")) return undefined;
      throw error;
    });
}

/** Why this node cannot restore a snapshot: it lacks the key, the runtime or the processor that it was taken with. */
async function obstacleTo(
  machine: Machine,
  { uid, depth }: StoredSnapshot,
): Promise<Pick<StateError, "reason" | "message"> | undefined> {
  if (depth === "Filesystem") return undefined;
  try {
    const meta = await readMeta(snapshotFolder(machine.layout, uid), machine.vault.keys);
    if (meta === undefined) throw new StateError("ImageMissing", "The snapshot has lost its memory");
    const build = await machine.runtimes.get(meta.runtime)?.checkpoints?.build();
    if (build === undefined) throw new StateError("RuntimeCannotSave", `This node has no runtime "${meta.runtime}"`);
    checkPlace(meta, { build, cpu: await readCpuFeatures(), specHash: meta.specHash });
    return undefined;
  } catch (error) {
    if (error instanceof StateError) return { reason: error.reason, message: error.message };
    throw error;
  }
}

/** Continues Pods that a crash left paused in the middle of a capture, and removes the partial snapshots. */
export async function endInterruptedCaptures(machine: Pick<Machine, "runtimes" | "snapshots">): Promise<void> {
  for (const [uid, intent] of await machine.snapshots.interrupted()) {
    if (intent !== undefined) {
      const { runtime, paused, stopped = [] } = intent;
      await resumePod(machine, runtime, paused);
      await continueProcesses(machine, { runtime, ids: stopped });
    }
    await machine.snapshots.abandon(uid);
  }
}

/** Removes the files of SandboxSnapshots that no longer exist. Returns their UIDs. */
export async function sweepSnapshots(client: Client, store: SnapshotStore): Promise<readonly string[]> {
  // Listed before the objects, so that a snapshot created in between is not removed.
  const found = await store.uids();
  if (found.length === 0) return [];
  const { items } = await client.list(sandboxSnapshots);
  const existing = new Set(items.map(({ metadata }) => metadata.uid));
  const gone = found.filter((uid) => !existing.has(uid));
  for (const uid of gone) await store.remove(uid);
  return gone;
}
