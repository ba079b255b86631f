import type { Client, WatchOptions } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import { isReason, KubeError, type KubeReason } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { compareVersions } from "../resource-version.ts";
import { readBatch } from "./batch.ts";
import type { Change, FollowOptions } from "./follow.ts";
import { GuardedWatch } from "./guarded-watch.ts";
import { collectInitial } from "./initial.ts";
import { healthyAfterMs, recover } from "./recovery.ts";

const defaultIdleMs = 90_000;
/** A server that supports `sendInitialEvents` starts sending at once; another never sends the bookmark that ends them. */
const streamIdleMs = 10_000;
/** Failures that a list would have as well. Any other means that the server does not support `sendInitialEvents`. */
const unrelatedToStreaming: readonly KubeReason[] = [
  "Unreachable",
  "Interrupted",
  "Unauthorized",
  "Forbidden",
  "NotFound",
  "TooManyRequests",
  "ServiceUnavailable",
];
/** Matches nothing: every resource can be selected by name, and no object can have this name. */
const noObject = "metadata.name=-";
/** Watches last 5 to 10 minutes, as with client-go, so that connections spread over the API servers. */
const shortestWatchSeconds = 300;

/**
 * - `empty`: nothing is known, at the start or because the server no longer accepts our version.
 * - `listed`: everything up to `version` is known; no watch is open.
 * - `watching`: `watch` delivers the events after `version`.
 * - `doubting`: a watch from `version` was open for a while and delivered nothing, not even a bookmark. A server that was
 *   restored from a backup does this with versions it does not have yet: it waits for them.
 *
 * `failures` counts failed attempts since the last healthy watch.
 */
export type State<T extends KubeObject> =
  | { readonly at: "empty"; readonly failures: number }
  | { readonly at: "listed" | "doubting"; readonly failures: number; readonly version: string }
  | { readonly at: "watching"; readonly failures: number; readonly version: string; readonly watch: GuardedWatch<T> };

export interface Step<T extends KubeObject> {
  /** Passed to the consumer before the wait. */
  readonly change?: Change<T>;
  readonly waitMs?: number;
  readonly next: State<T>;
}

/** The state machine of a list-watch. */
export class Follower<T extends KubeObject> {
  readonly #client: Client;
  readonly #resource: Resource<T>;
  readonly #options: FollowOptions<T>;
  readonly #clock: Clock;
  /** Set to false for good when the server turns out not to support `sendInitialEvents`. */
  #streams: boolean;

  constructor(client: Client, resource: Resource<T>, options: FollowOptions<T>) {
    this.#client = client;
    this.#resource = resource;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#streams = (options.initial ?? "stream") === "stream";
  }

  async step(state: State<T>): Promise<Step<T>> {
    try {
      switch (state.at) {
        case "empty":
          // After a failure use a plain list: some proxies break streams but pass lists.
          return this.#streams && state.failures === 0 ? await this.#stream() : await this.#list(state.failures);
        case "listed":
          return { next: await this.#watch(state) };
        case "watching":
          return await this.#read(state);
        case "doubting":
          return await this.#doubt(state);
        default:
          return state satisfies never;
      }
    } catch (error) {
      return this.#end(state, asKubeError(error));
    }
  }

  async #list(failures: number): Promise<Step<T>> {
    const { signal, pageSize, transform } = this.#options;
    const options = { ...this.#scope(), signal, ...(pageSize === undefined ? {} : { limit: pageSize }) };
    const { items, resourceVersion } = await this.#client.list(this.#resource, options, transform);
    return {
      change: { type: "reset", items, resourceVersion },
      next: { at: "listed", failures, version: resourceVersion },
    };
  }

  async #stream(): Promise<Step<T>> {
    const initial = await this.#collectInitial();
    if (initial === undefined) {
      this.#streams = false;
      return { next: { at: "empty", failures: 0 } };
    }
    const { items, version, watch } = initial;
    watch.idleMs = this.#idleMs;
    return {
      change: { type: "reset", items, resourceVersion: version },
      next: { at: "watching", failures: 0, version, watch },
    };
  }

  /** Undefined if the server does not support `sendInitialEvents`. */
  async #collectInitial(): Promise<{ items: readonly T[]; version: string; watch: GuardedWatch<T> } | undefined> {
    let watch: GuardedWatch<T> | undefined;
    try {
      watch = await this.#open({ sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }, streamIdleMs);
      const initial = await collectInitial(watch, this.#options.transform);
      if (initial) return { ...initial, watch };
      watch.close();
      return undefined;
    } catch (error) {
      watch?.close();
      if (watch?.fellSilent || !isReason(error, ...unrelatedToStreaming)) return undefined;
      throw error;
    }
  }

  async #watch({ failures, version }: State<T> & { version: string }): Promise<State<T>> {
    return { at: "watching", failures, version, watch: await this.#open({ resourceVersion: version }) };
  }

  /** Gets the server's version by a list that matches no object. */
  async #doubt({ failures, version }: State<T> & { version: string }): Promise<Step<T>> {
    const { fieldSelector, ...scope } = this.#scope();
    const nothing = fieldSelector === undefined ? noObject : `${fieldSelector},${noObject}`;
    const options = { ...scope, fieldSelector: nothing, signal: this.#options.signal };
    const { resourceVersion } = await this.#client.list(this.#resource, options);
    const wentBack = (compareVersions(resourceVersion, version) ?? 0) < 0;
    return { next: wentBack ? { at: "empty", failures } : { at: "listed", failures, version } };
  }

  async #read(state: State<T> & { at: "watching" }): Promise<Step<T>> {
    const raw = await state.watch.next();
    if (raw === undefined) return this.#end(state);
    const { events, version, error } = readBatch(raw, state.version, this.#options.transform);
    const after: State<T> = { ...state, version };
    const step: Step<T> = error ? this.#end(after, error) : { next: after };
    if (events.length === 0 && version === state.version) return step;
    return { ...step, change: { type: "changes", events, resourceVersion: version } };
  }

  #end(state: State<T>, error?: KubeError): Step<T> {
    const watch = state.at === "watching" ? state.watch : undefined;
    watch?.close();
    const ending = { livedMs: watch?.livedMs ?? 0, failures: state.failures, ...(error ? { error } : {}) };
    const { keepVersion, waitMs, failures } = recover(ending, (this.#options.random ?? Math.random)());
    const silent = watch?.fellSilent ?? false;
    if (error && !this.#options.signal.aborted)
      this.#options.onTrouble?.({ error, failures, retryInMs: waitMs, silent });
    if (state.at === "empty" || !keepVersion) return { waitMs, next: { at: "empty", failures } };
    const wasSilent = watch && !watch.hasReceived && ending.livedMs >= healthyAfterMs;
    return { waitMs, next: { at: wasSilent ? "doubting" : "listed", failures, version: state.version } };
  }

  #open(from: WatchOptions, idleMs: number = this.#idleMs): Promise<GuardedWatch<T>> {
    const random = (this.#options.random ?? Math.random)();
    const timeoutSeconds = Math.round(shortestWatchSeconds * (1 + random));
    const options = { ...this.#scope(), timeoutSeconds, ...from };
    const guard = { clock: this.#clock, idleMs, signal: this.#options.signal };
    return GuardedWatch.open(this.#client, { resource: this.#resource, options }, guard);
  }

  get #idleMs(): number {
    return this.#options.idleMs ?? defaultIdleMs;
  }

  #scope(): Pick<WatchOptions, "namespace" | "labelSelector" | "fieldSelector"> {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }
}

function asKubeError(error: unknown): KubeError {
  if (error instanceof KubeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new KubeError("Unknown", `Cannot follow the watch: ${message}`, { cause: error });
}
