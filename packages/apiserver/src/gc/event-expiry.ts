import { ApiError } from "../api-error.ts";
import { type ApiObject, stringAt } from "../api-object.ts";
import type { Logger } from "../logger.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { ApiContext } from "../verbs/context.ts";
import { remove } from "../verbs/delete.ts";

/** The same as in kube-apiserver. */
const lifetimeMs = 60 * 60_000;
const intervalMs = 60_000;
/** Beyond this number the oldest events are deleted before their time. */
const maxEvents = 20_000;
/** Concurrent deletions. */
const concurrency = 256;

/** Deletes old events, so that they do not fill the store. */
export class EventExpiry {
  readonly #context: ApiContext;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(context: ApiContext, logger: Logger) {
    this.#context = context;
    this.#logger = logger;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.sweep().finally(() => {
        this.#sweeping = undefined;
      });
    }, intervalMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  async sweep(): Promise<void> {
    const events = [...this.#context.store.list("events")].map(({ object }) => object);
    const doomed = expiredEvents(events, this.#context.clock.now());
    try {
      for (let at = 0; at < doomed.length; at += concurrency) {
        await Promise.all(doomed.slice(at, at + concurrency).map((event) => this.#remove(event)));
      }
    } catch (error) {
      this.#logger.warn({ err: error }, "cannot delete old events");
    }
  }

  async #remove({ metadata }: ApiObject): Promise<void> {
    const definition = this.#context.registry.get("events") as ResourceDefinition;
    const { name = "", namespace, resourceVersion } = metadata;
    const target = { definition, version: definition.versions[0], namespace, name, subresource: undefined };
    await remove(this.#context, target, { resourceVersion }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || (error.reason !== "NotFound" && error.reason !== "Conflict")) throw error;
    });
  }
}

/** The events to delete, by age and by number. */
export function expiredEvents(events: readonly ApiObject[], nowMs: number): ApiObject[] {
  const byAge = events.map((event) => ({ event, atMs: lastSeen(event) })).sort((left, right) => left.atMs - right.atMs);
  const surplus = byAge.length - maxEvents;
  return byAge.filter(({ atMs }, at) => at < surplus || atMs < nowMs - lifetimeMs).map(({ event }) => event);
}

function lastSeen(event: ApiObject): number {
  const times = [
    stringAt(event, "series", "lastObservedTime"),
    stringAt(event, "lastTimestamp"),
    stringAt(event, "eventTime"),
    event.metadata.creationTimestamp,
  ];
  return Math.max(...times.map((time) => Date.parse(time ?? "")).filter((at) => !Number.isNaN(at)), 0);
}
