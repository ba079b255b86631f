import type { Client } from "../client.ts";
import { microTime } from "../election/micro-time.ts";
import { isReason } from "../errors.ts";
import { type Logger, silentLogger } from "../logger.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import { WorkQueue } from "../queue/work-queue.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { EventSeries, type EventSeriesOptions, type Series } from "./event-series.ts";
import { cutToBytes, type EventRecord, type KubeEvent, kubeEvents, referenceTo } from "./kube-event.ts";

export interface EventRecorderOptions extends EventSeriesOptions {
  readonly client: Client;
  /** The reporting controller, such as `sandbox-controller`. */
  readonly controller: string;
  /** The reporting process. */
  readonly instance: string;
  /** How long events of type `Normal` are delayed, so that they do not compete with the work they report. Default 0. */
  readonly normalAfterMs?: number;
  /** How often a continuing series is updated. Default 10 s. */
  readonly repeatEveryMs?: number;
  /** How long disposal waits for events that are not written yet. Default 2 s. */
  readonly stopWithinMs?: number;
  readonly scheduler?: Scheduler;
  readonly log?: Logger;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** An event and how much of its series is on the server. */
interface Written {
  readonly event: KubeEvent;
  count: number;
  failures: number;
}

/** An event is dropped after this many failed attempts. */
const mostAttempts = 4;

/**
 * Records Kubernetes events for objects. It never blocks and never throws. Repeated events become a series; events above the
 * limits are dropped and counted.
 */
export class EventRecorder implements AsyncDisposable {
  readonly #options: EventRecorderOptions;
  readonly #scheduler: Scheduler;
  readonly #log: Logger;
  readonly #series: EventSeries<Written>;
  readonly #queue: WorkQueue;
  readonly #stopping = new AbortController();
  #writing: Promise<void> | undefined;
  #state: "running" | "stopped" = "running";
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? systemScheduler;
    this.#log = options.log ?? silentLogger;
    this.#series = new EventSeries(options);
    this.#queue = new WorkQueue({
      scheduler: this.#scheduler,
      backoff: { firstMs: 1_000, longestMs: 10_000 },
      onReady: () => this.#write(),
    });
  }

  /** The number of dropped events. */
  get dropped(): number {
    return this.#dropped;
  }

  record<T extends KubeObject>(resource: Resource<T>, object: T, recorded: EventRecord): void {
    const { type, reason, action, fieldPath = "" } = recorded;
    const subject = object.metadata?.uid ?? `${object.metadata?.namespace}/${object.metadata?.name}`;
    const make = (): Written => ({ event: this.#event(resource, object, recorded), count: 0, failures: 0 });
    const occurrence = { subject, kind: `${type} ${reason} ${action} ${fieldPath}`, make };
    const series = this.#state === "running" ? this.#series.add(occurrence, this.#scheduler.now()) : undefined;
    if (series === undefined) return this.#drop();
    const evicted = this.#series.evict();
    if (evicted !== undefined && isUnwritten(evicted)) this.#drop();
    const { repeatEveryMs = 10_000, normalAfterMs = 0 } = this.#options;
    const firstAfterMs = type === "Normal" ? normalAfterMs : 0;
    this.#queue.add(series.id, { afterMs: series.count === 1 ? firstAfterMs : repeatEveryMs });
  }

  /** Writes the remaining events within `stopWithinMs`. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state === "stopped") return;
    this.#state = "stopped";
    this.#queue.close();
    using _bound = this.#scheduler.schedule(this.#options.stopWithinMs ?? 2_000, () => this.#stopping.abort());
    await this.#writing;
    for (const series of this.#series.values()) {
      if (!isUnwritten(series)) continue;
      if (this.#stopping.signal.aborted || (await this.#send(series)) !== "written") this.#drop();
    }
  }

  /** Sends one request at a time, so that events do not compete with other requests. */
  #write(): void {
    this.#writing ??= this.#drain();
  }

  async #drain(): Promise<void> {
    // Do not write within the caller's `record`.
    await Promise.resolve();
    for (let id = this.#queue.take(); id !== undefined; id = this.#queue.take()) {
      const series = this.#series.get(id);
      const result = series === undefined ? "written" : await this.#send(series);
      if (result === "refused") {
        this.#series.forget(id);
        this.#drop();
      }
      this.#queue.finish(id, { type: result === "again" ? "failed" : "done" });
    }
    this.#writing = undefined;
  }

  async #send(series: Series<Written>): Promise<"written" | "again" | "refused"> {
    const written = series.first;
    const { count } = series;
    try {
      await (written.count === 0 ? this.#create(series) : this.#repeat(series));
      written.count = count;
      written.failures = 0;
      return "written";
    } catch (error) {
      this.#log.debug({ event: written.event.metadata?.name, err: error }, "event not written");
      return this.#outcomeOf(written, error);
    }
  }

  #outcomeOf(written: Written, error: unknown): "again" | "refused" {
    written.failures += 1;
    const isExpired = isReason(error, "NotFound") && written.count > 0;
    if (isExpired) written.count = 0;
    const isHopeless = !isExpired && isReason(error, "BadRequest", "Forbidden", "Invalid", "NotFound");
    return isHopeless || written.failures >= mostAttempts ? "refused" : "again";
  }

  async #create(series: Series<Written>): Promise<void> {
    const { event } = series.first;
    const repeated = series.count > 1 ? { series: this.#seriesOf(series) } : {};
    try {
      await this.#options.client.create(kubeEvents, { ...event, ...repeated }, { signal: this.#stopping.signal });
    } catch (error) {
      // The response to an earlier attempt was lost.
      if (!isReason(error, "AlreadyExists")) throw error;
    }
  }

  async #repeat(series: Series<Written>): Promise<void> {
    const { name = "", namespace = "" } = series.first.event.metadata ?? {};
    const body = { series: this.#seriesOf(series) };
    const { signal } = this.#stopping;
    await this.#options.client.patch(kubeEvents, { name, namespace }, { type: "merge", body }, { signal });
  }

  #seriesOf({ count, lastAt }: Series<Written>): NonNullable<KubeEvent["series"]> {
    return { count, lastObservedTime: microTime(this.#scheduler.date() - (this.#scheduler.now() - lastAt)) };
  }

  #event(resource: Resource, object: KubeObject, { type, reason, action, text, fieldPath }: EventRecord): KubeEvent {
    const { controller, instance, random = Math.random } = this.#options;
    const regarding = referenceTo(resource, object);
    const unique = `${this.#scheduler.date().toString(16)}${Math.floor(random() * 2 ** 32).toString(16)}`;
    return {
      // Names have at most 253 characters, and the object's own name may be that long.
      metadata: { name: `${regarding.name?.slice(0, 230)}.${unique}`, namespace: regarding.namespace ?? "default" },
      eventTime: microTime(this.#scheduler.date()),
      reportingController: controller,
      reportingInstance: cutToBytes(instance, 128),
      type,
      reason,
      action,
      regarding: fieldPath === undefined ? regarding : { ...regarding, fieldPath },
      note: cutToBytes(text, 1024),
    };
  }

  #drop(): void {
    this.#dropped += 1;
  }
}

function isUnwritten({ count, first }: Series<Written>): boolean {
  return first.count < count;
}
