import type { Pod } from "@agent-sandbox/api";
import {
  type Client,
  EventRecorder,
  Fence,
  type Index,
  type Informer,
  Informers,
  isReason,
  type Logger,
  type Pass,
  type Priority,
  parseKey,
  type Reconcile,
  type Result,
  Runner,
  systemScheduler,
  watching,
} from "@agent-sandbox/kube";
import { messageOf } from "../errors.ts";
import { parseContainerId } from "../layout.ts";
import type { DiskUsage } from "../metrics/pod-usage.ts";
import { Probes } from "../probe/probes.ts";
import { namespaces, pods } from "../resources.ts";
import { watchFolder } from "../system/watch-folder.ts";
import { Sources } from "../volume/sources.ts";
import type { Action, Observed } from "./decide.ts";
import { DiskWatch } from "./disk-watch.ts";
import type { Effects, PodEvent } from "./effects.ts";
import type { Machine } from "./machine.ts";
import { fieldPathOf, memberNamed } from "./members.ts";
import { rulesFor } from "./namespace-rules.ts";
import { observeRuns } from "./observe-runs.ts";
import { perform } from "./perform.ts";
import { isBeingSaved } from "./plan-save.ts";
import { sourcesOf, uidsOf, wantedFiles } from "./pod-indexes.ts";
import { recordOf } from "./present.ts";
import { podReconciler } from "./reconcile.ts";
import type { PodRecord } from "./record.ts";
import { reportStatus } from "./report-status.ts";
import { sourcesVersion } from "./sandbox.ts";
import { Tasks } from "./tasks.ts";

export interface PodControllerOptions {
  readonly machine: Machine;
  readonly client: Client;
  readonly nodeName: string;
  readonly hostAddress: string;
  /** Runs a command in a running container. */
  readonly run: Effects["run"];
  readonly dial: Effects["dial"];
  readonly endSessions: Effects["endSessions"];
  readonly log: Logger;
  /** Pods worked on at the same time. */
  readonly workers: number;
}

/** Finds changes that cause no event, such as a container whose monitor was killed. */
const resyncMs = 60_000;
/** setTimeout is limited to 24 days, and deadlines of Pods are not. */
const longestWaitMs = 3_600_000;
/** The retry delay after a failed pass: 1 s, 2 s, 4 s, up to 5 min. */
const backoff = { firstMs: 1000, longestMs: 300_000 };

/** Delays Normal events, so that they do not compete with the start of the Pod. */
const normalAfterMs = 100;

/**
 * Runs the Pods bound to this node. Its keys are UIDs instead of names, because a deleted Pod must be torn down even when
 * a new Pod already has its name.
 */
export class PodController implements AsyncDisposable {
  readonly ready: Promise<void>;
  readonly #options: PodControllerOptions;
  readonly #informers: Informers;
  readonly #pods: Informer<Pod>;
  readonly #byUid: Index<Pod>;
  readonly #bySource: Index<Pod>;
  readonly #byNamespace: Index<Pod>;
  /** By the UID in the annotation that asks for the files of a Sandbox. */
  readonly #byKept: Index<Pod>;
  readonly #namespaces: Informer;
  readonly #runner: Runner;
  readonly #reconcilePod: Reconcile;
  readonly #events: EventRecorder;
  readonly #tasks: Tasks;
  readonly #probes: Probes;
  readonly #sources: Sources;
  readonly #disk: DiskWatch;
  readonly #cleanup = new AsyncDisposableStack();
  /** The queue key of each UID. */
  readonly #keys = new Map<string, string>();
  #timer: Disposable | undefined;

  constructor(options: PodControllerOptions) {
    const { client, log, nodeName, workers } = options;
    this.#options = options;
    this.#informers = this.#cleanup.use(new Informers({ client, log }));
    this.#pods = this.#informers.get(pods, { fieldSelector: `spec.nodeName=${nodeName}` });
    this.#byUid = this.#pods.index("uid", uidsOf);
    this.#bySource = this.#pods.index("source", sourcesOf);
    this.#byNamespace = this.#pods.index("namespace", ({ metadata }) => [metadata?.namespace ?? ""]);
    this.#byKept = this.#pods.index("kept", (pod) => [wantedFiles(pod)]);
    this.#namespaces = this.#informers.get(namespaces);
    const fence = this.#cleanup.use(new Fence({ informers: this.#informers }));
    this.#events = this.#cleanup.use(
      new EventRecorder({ client, controller: "agent-sandbox-node", instance: nodeName, log, normalAfterMs }),
    );
    this.#reconcilePod = podReconciler({
      observe: (uid) => this.#observe(uid),
      perform: (action, observed, pass) => this.#perform(action, observed, pass),
      report: (pod, status, pass) => reportStatus(pod, status, pass.client),
      recordEvent: (pod, event) => this.#events.record(pods, pod, event),
      now: options.machine.now,
    });
    this.#runner = this.#cleanup.use(
      new Runner({
        name: "node",
        reconcile: (key, pass) => this.#reconcile(key, pass),
        client,
        fence,
        workers,
        // Starts and stops can be slow: one namespace must not occupy all workers.
        workersPerNamespace: Math.max(1, workers - 2),
        backoff,
        log,
      }),
    );
    const enqueue = (uid: string): void => this.#enqueue(uid);
    this.#tasks = this.#cleanup.use(new Tasks(enqueue));
    const { run, dial, machine } = options;
    const recordEvent = (pod: Pod, event: PodEvent): void => this.#recordEvent(pod, event);
    this.#probes = this.#cleanup.use(new Probes({ now: machine.now, run, dial, recordEvent, onChange: enqueue }));
    const onChange = (key: string): void => {
      for (const { metadata } of this.#bySource.get(key)) enqueue(metadata?.uid ?? "");
    };
    this.#sources = this.#cleanup.use(new Sources({ client, informers: this.#informers, onChange }));
    const podOf = (uid: string): Pod | undefined => this.#byUid.get(uid)[0];
    this.#disk = this.#cleanup.use(new DiskWatch({ machine, podOf, recordEvent, onExcess: enqueue, log }));
    this.ready = this.#start();
    // A caller that does not await `ready` must not cause an unhandled rejection.
    this.ready.catch(() => undefined);
  }

  uidOf(namespace: string, name: string): string | undefined {
    return this.#pods.get(`${namespace}/${name}`)?.metadata?.uid;
  }

  get disk(): DiskUsage {
    return this.#disk;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    await this.#cleanup.disposeAsync();
  }

  async #start(): Promise<void> {
    const { machine } = this.#options;
    const trigger = watching(this.#pods, uidsOf);
    this.#cleanup.use(trigger.connect((uid, priority) => this.#enqueue(uid, priority)));
    // The allowed runtimes of a Namespace may have changed: check its Pods again.
    const changed = watching(this.#namespaces, ({ metadata }) =>
      this.#byNamespace.get(metadata?.name ?? "").flatMap(uidsOf),
    );
    this.#cleanup.use(changed.connect((uid, priority) => this.#enqueue(uid, priority)));
    // Watch before the records are read, so that no exit in between is missed.
    const exits = watchFolder(machine.layout.exitsDir, (name) => {
      if (name === undefined) return this.#enqueueAll();
      const ended = parseContainerId(name);
      if (ended !== undefined) this.#enqueue(ended.uid);
    });
    this.#cleanup.use(exits);
    await Promise.all([this.#pods.synced, this.#namespaces.synced]);
    await this.#enqueueRecorded();
    this.#scheduleResync();
    this.#runner.start();
  }

  async #enqueueRecorded(): Promise<void> {
    for (const [uid, record] of await this.#options.machine.records.list()) {
      if (record !== undefined && !this.#keys.has(uid)) this.#keys.set(uid, `${record.namespace}/${uid}`);
      this.#enqueue(uid, "background");
    }
  }

  /**
   * Queue keys begin with the namespace, so that the queue is fair between namespaces. A UID keeps its key until the Pod and
   * its record are gone.
   */
  #enqueue(uid: string, priority: Priority = "live"): void {
    const namespace = this.#byUid.get(uid)[0]?.metadata?.namespace;
    const key = this.#keys.get(uid) ?? (namespace === undefined ? uid : `${namespace}/${uid}`);
    this.#keys.set(uid, key);
    this.#runner.add(key, { priority });
  }

  #scheduleResync(): void {
    if (this.#cleanup.disposed) return;
    this.#timer = systemScheduler.schedule(resyncMs, () => {
      this.#enqueueAll();
      this.#scheduleResync();
    });
  }

  #enqueueAll(): void {
    this.#enqueueRecorded().catch((error: unknown) => this.#options.log.warn({ error }, "records not read"));
  }

  async #reconcile(key: string, pass: Pass): Promise<Result> {
    try {
      const { requeueAfterMs } = (await this.#reconcilePod(key, pass)) ?? {};
      await this.#options.machine.records.sync(parseKey(key).name);
      return requeueAfterMs === undefined ? {} : { requeueAfterMs: Math.min(longestWaitMs, requeueAfterMs) };
    } catch (error) {
      // The Pod was changed in the meantime. The next pass starts when the cache has the new version.
      if (isReason(error, "Conflict", "NotFound")) return { requeueAfterMs: 0 };
      this.#reportFullDisk(parseKey(key).name, error);
      throw error;
    }
  }

  /** The Pod stays as it is until there is room: its status says nothing about the reason. */
  #reportFullDisk(uid: string, error: unknown): void {
    const [pod] = this.#byUid.get(uid);
    const text = messageOf(error);
    if (pod === undefined || !/ENOSPC|EDQUOT|no space left on device/i.test(text)) return;
    this.#recordEvent(pod, { type: "Warning", reason: "DiskFull", text });
  }

  async #observe(uid: string): Promise<Observed> {
    const { machine, hostAddress, client } = this.#options;
    const [pod] = this.#byUid.get(uid);
    const record = await machine.records.read(uid);
    if (pod === undefined && record === undefined) {
      this.#tasks.forget(uid);
      this.#keys.delete(uid);
    }
    return {
      pod,
      record,
      hostAddress,
      rules: await rulesFor({ pod, record }, { rules: machine.rules, client, cached: this.#namespaces }),
      runs: record === undefined ? {} : await observeRuns(machine, record),
      health: this.#probes.sync(isBeingSaved(record) ? undefined : pod, record, uid),
      tasks: this.#tasks.of(uid),
      sourcesVersion:
        pod === undefined || record === undefined ? "" : sourcesVersion(machine, this.#sources.snapshot(pod)),
      excess: this.#disk.excessOf(uid),
      pressure: this.#disk.pressure,
      predecessor: pod === undefined || record !== undefined ? undefined : machine.records.savedFor(wantedFiles(pod)),
    };
  }

  #recordEvent(pod: Pod, { type = "Normal", reason, action = reason, text, container }: PodEvent): void {
    const member = container === undefined ? undefined : memberNamed(pod, container);
    const fieldPath = member === undefined ? {} : { fieldPath: fieldPathOf(member) };
    this.#events.record(pods, pod, { type, reason, action, text, ...fieldPath });
  }

  async #perform(action: Action, observed: Observed, { client, log }: Pass): Promise<void> {
    const {
      namespace = observed.record?.namespace ?? "",
      name = observed.record?.name ?? "",
      uid = "",
    } = observed.pod?.metadata ?? {};
    log.info({ pod: `${namespace}/${name}`, ...summary(action) }, "pod changes");
    if (action.do !== "delete-from-api") {
      await perform(this.#effects(client, observed), action, observed);
      if (action.do === "tear-down") this.#forget(recordOf(observed));
      return;
    }
    await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
  }

  /** Called when a Pod is removed from the machine. The next Pod of its Sandbox may wait for this. */
  #forget({ uid, keptFor = "" }: PodRecord): void {
    this.#tasks.forget(uid);
    if (keptFor !== "") for (const pod of this.#byKept.get(keptFor)) this.#enqueue(pod.metadata?.uid ?? "");
  }

  #effects(client: Client, { rules }: Observed): Effects {
    const { machine, hostAddress, run, dial, endSessions } = this.#options;
    const recordEvent = (pod: Pod, event: PodEvent): void => this.#recordEvent(pod, event);
    const [tasks, sources] = [this.#tasks, this.#sources];
    return { machine, rules, client, hostAddress, tasks, sources, run, dial, endSessions, recordEvent };
  }
}

function summary(action: Action): object {
  return action.do === "record-exit"
    ? { do: action.do, container: action.container, ended: action.record.ended }
    : action;
}
