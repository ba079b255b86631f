import type { Scheduler } from "../queue/scheduler.ts";
import type { Resource } from "../resource.ts";
import type { WatchEvent } from "../transport.ts";
import type { ApiCall, ServedResource } from "./api-call.ts";
import type { LogEntry, ObjectLog } from "./object-log.ts";
import { compileFilter, type Matches } from "./selectors.ts";
import { WatchStream } from "./watch-stream.ts";

interface Watch {
  readonly resource: ServedResource;
  readonly filter: Matches;
  readonly stream: WatchStream;
  /** Delayed events, in order. */
  readonly delayed: WatchEvent[];
  /** When the last one is delivered. */
  lastAt: number;
}

/** All open watches. Each gets the changes it selects, in order, with the configured delay. */
export class WatchHub {
  delayMs: ((resource: Resource) => number) | undefined;
  readonly #log: ObjectLog;
  readonly #scheduler: Scheduler;
  readonly #watches = new Set<Watch>();

  constructor(log: ObjectLog, scheduler: Scheduler) {
    this.#log = log;
    this.#scheduler = scheduler;
    log.listen((entry) => {
      for (const watch of this.#watches) this.#notify(watch, entry);
    });
  }

  get size(): number {
    return this.#watches.size;
  }

  open({ resource, namespace, query }: ApiCall): WatchStream {
    const stream = new WatchStream(() => this.#watches.delete(watch));
    const watch: Watch = { resource, filter: compileFilter(namespace, query), stream, delayed: [], lastAt: 0 };
    this.#watches.add(watch);
    const from = query.get("resourceVersion") ?? "";
    if (query.get("sendInitialEvents") === "true") this.#sendInitial(watch, true);
    else if (from === "" || from === "0") this.#sendInitial(watch, false);
    else if (Number(from) < this.#log.compactedTo || Number(from) > this.#log.version) this.#refuse(watch, from);
    else for (const entry of this.#log.since(Number(from))) this.#notify(watch, entry);
    return stream;
  }

  cut(error: Error): void {
    for (const { stream } of this.#watches) stream.end({ error });
  }

  sendBookmarks(): void {
    for (const watch of this.#watches) this.#deliver(watch, this.#bookmark(watch, {}));
  }

  #sendInitial(watch: Watch, marked: boolean): void {
    for (const object of this.#log.list(watch.resource)) {
      if (watch.filter(object)) watch.stream.push({ type: "ADDED", object });
    }
    if (marked) watch.stream.push(this.#bookmark(watch, { "k8s.io/initial-events-end": "true" }));
  }

  #bookmark({ resource }: Watch, annotations: Record<string, string>): WatchEvent {
    const { apiVersion, kind } = resource;
    return {
      type: "BOOKMARK",
      object: { apiVersion, kind, metadata: { resourceVersion: String(this.#log.version), annotations } },
    };
  }

  #refuse({ stream }: Watch, from: string): void {
    const message = `too old resource version: ${from} (${this.#log.compactedTo})`;
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: 410, reason: "Expired", message };
    stream.push({ type: "ERROR", object: status });
    stream.end();
  }

  #notify(watch: Watch, entry: LogEntry): void {
    if (entry.resource !== watch.resource) return;
    const before = entry.previous !== undefined && watch.filter(entry.previous);
    const after = !entry.gone && watch.filter(entry.object);
    if (after) this.#deliver(watch, { type: before ? "MODIFIED" : "ADDED", object: entry.object });
    else if (before) this.#deliver(watch, { type: "DELETED", object: entry.object });
  }

  #deliver(watch: Watch, event: WatchEvent): void {
    const now = this.#scheduler.now();
    const at = Math.max(watch.lastAt, now + (this.delayMs?.(watch.resource) ?? 0));
    watch.lastAt = at;
    if (at <= now && watch.delayed.length === 0) return watch.stream.push(event);
    watch.delayed.push(event);
    // Each timer delivers the oldest event, so that the order is kept.
    this.#scheduler.schedule(at - now, () => watch.stream.push(watch.delayed.shift() as WatchEvent));
  }
}
