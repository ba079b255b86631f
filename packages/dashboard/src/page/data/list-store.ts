/**
 * The objects of one resource in one scope, kept current with a list and a watch. Subscribers are called at most once per frame.
 * A store runs while it has subscribers, and a little longer, so that the next page finds the objects.
 *
 * States: `loading` (nothing was read yet), `live`, `stale` (the connection is lost; the objects are those of `since`), `refused`
 * (the user may not list them, or the server does not have the resource).
 */
import { type ApiClient, ApiError } from "./api-client.ts";
import { Frame } from "./frames.ts";
import { type KubeObject, pathOf, type Resource } from "./resources.ts";
import type { StreamEnd, Streams } from "./streams.ts";
import { applyEvent, applyList, LineReader, type WatchEvent } from "./watch-events.ts";

export interface Snapshot<T> {
  /** In no order. Objects that did not change are the same as before. */
  readonly items: readonly T[];
  readonly state: "loading" | "live" | "stale" | "refused";
  /** When the state began. */
  readonly since: number;
  readonly error?: ApiError | undefined;
}

export interface StoreOptions {
  readonly namespace?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

const lingerMs = 30_000;
const firstRetryMs = 500;
const longestRetryMs = 15_000;
/** A server that closes watches immediately is not asked in a loop. */
const shortestWatchMs = 1000;

export class ListStore<T extends KubeObject> {
  readonly #resource: Resource<T>;
  readonly #options: StoreOptions;
  readonly #api: ApiClient;
  readonly #streams: Streams;
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<() => void>();
  readonly #frame = new Frame(() => this.#publish());
  #snapshot: Snapshot<T> = { items: [], state: "loading", since: Date.now() };
  #state: Omit<Snapshot<T>, "items"> = this.#snapshot;
  #version: string | undefined;
  #running: AbortController | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;

  constructor(
    resource: Resource<T>,
    options: StoreOptions,
    { api, streams }: { readonly api: ApiClient; readonly streams: Streams },
  ) {
    [this.#resource, this.#options, this.#api, this.#streams] = [resource, options, api, streams];
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    clearTimeout(this.#linger);
    if (this.#running === undefined) {
      this.#running = new AbortController();
      void this.#run(this.#running.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#linger = setTimeout(() => this.#stop(), lingerMs);
    };
  };

  readonly snapshot = (): Snapshot<T> => this.#snapshot;

  readonly isIdle = (): boolean => this.#running === undefined;

  #stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#frame.cancel();
    this.#version = undefined;
    if (this.#state.state === "live") this.#enter("stale");
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const startedAt = Date.now();
      try {
        if (this.#version === undefined) await this.#list(signal);
        const end = await this.#watch(signal);
        if (end.isDisconnected) throw new Error("disconnected");
        if (Date.now() - startedAt > shortestWatchMs) {
          failures = 0;
          continue;
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#enter(
          error instanceof ApiError && isRefusal(error) ? "refused" : "stale",
          error instanceof ApiError ? error : undefined,
        );
        if (error instanceof ApiError && error.status === 401) return;
      }
      if (Date.now() - startedAt > longestRetryMs) failures = 0;
      await pause(Math.min(longestRetryMs, firstRetryMs * 2 ** failures++), signal);
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { items, resourceVersion } = await this.#api.list(this.#resource, { ...this.#options, signal });
    applyList(this.#objects, items);
    this.#version = resourceVersion;
    this.#enter("live");
  }

  #watch(signal: AbortSignal): Promise<StreamEnd> {
    const { namespace, fieldSelector } = this.#options;
    const query = new URLSearchParams({ watch: "true", allowWatchBookmarks: "true" });
    query.set("resourceVersion", this.#version ?? "");
    if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);
    const lines = new LineReader();
    return new Promise((resolve) => {
      const close = this.#streams.open(`${pathOf(this.#resource, { namespace })}?${query}`, {
        onStatus: (status) => {
          // The server no longer knows the version, or refuses: the next list finds out.
          if (status >= 400) this.#version = undefined;
          else this.#enter("live");
        },
        onText: (text) => {
          for (const line of lines.read(text)) this.#apply(line);
        },
        onEnd: resolve,
      });
      signal.addEventListener("abort", () => {
        close();
        resolve({ isDisconnected: false });
      });
    });
  }

  #apply(line: string): void {
    let event: WatchEvent<T>;
    try {
      event = JSON.parse(line) as WatchEvent<T>;
    } catch {
      // A response that broke off, or an error that is not an event.
      this.#version = undefined;
      return;
    }
    const effect = applyEvent(this.#objects, event);
    if (effect === "relist") this.#version = undefined;
    else if (this.#version !== undefined) {
      this.#version = event.object?.metadata?.resourceVersion ?? this.#version;
    }
    if (effect === "changed") this.#frame.request();
  }

  #enter(state: Snapshot<T>["state"], error?: ApiError): void {
    const next =
      state === "stale" && this.#snapshot.state === "loading" && this.#objects.size === 0 ? "loading" : state;
    if (this.#state.state !== next || this.#state.error?.message !== error?.message) {
      this.#state = { state: next, since: Date.now(), error };
    }
    this.#frame.request();
  }

  #publish(): void {
    this.#snapshot = { ...this.#state, items: [...this.#objects.values()] };
    for (const listener of this.#listeners) listener();
  }
}

/** Whether the same request would get the same answer. A namespace in an address can be any text, which the server may call a bad request. */
function isRefusal({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && !temporary.has(status);
}

/** Request timeout, conflict, expired version, too many requests. */
const temporary: ReadonlySet<number> = new Set([408, 409, 410, 429]);

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
