import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import { type KubeObject, keyOf, type ObjectKey, objectKey, parseKey, type Resource } from "../resource.ts";
import { compareVersions, isDecimal } from "../resource-version.ts";
import type { Informer } from "./informer.ts";
import type { Informers } from "./informers.ts";
import { combineNeeds, Lag, type Need, needsLiveRead, type Wait } from "./lag.ts";
import { readNamespace, readObject } from "./live-read.ts";

export interface FenceOptions {
  readonly informers: Informers;
  readonly scheduler?: Scheduler;
  /** How long to wait for the watch before the objects are read from the server. Default 1 s. */
  readonly liveReadAfterMs?: number;
}

/**
 * The scope of one controller's work on one key. Another controller can record a write here too if it changes what this one
 * depends on, for example when it takes a member of its pool.
 */
export function fenceScope(controller: string, key: string): string {
  return `${controller} ${key}`;
}

/** Above this number of objects in a namespace, one list is cheaper than single reads. */
const mostSingleReads = 8;

/** The writes of one scope that are not in the caches yet. */
interface Group {
  readonly waits: Map<string, Wait>;
  readonly onEmpty: Set<() => void>;
}

/**
 * Read your own writes. Each write is recorded under a scope (a controller and the key it works on). Before the next
 * reconcile of the scope, `caughtUp` waits until every cache contains those writes or later ones. Normally the watch delivers
 * them; a live read is used when the watch is late or when the response to a write was lost.
 *
 * Only resources with an informer are recorded.
 */
export class Fence implements Disposable {
  readonly #informers: Informers;
  readonly #scheduler: Scheduler;
  readonly #liveReadAfterMs: number;
  readonly #groups = new Map<string, Group>();
  readonly #onVanished = new Set<(scope: string) => void>();
  readonly #lags = new Map<Informer, Lag>();

  constructor({ informers, scheduler = systemScheduler, liveReadAfterMs = 1_000 }: FenceOptions) {
    this.#informers = informers;
    this.#scheduler = scheduler;
    this.#liveReadAfterMs = liveReadAfterMs;
  }

  /** The number of scopes that wait for their writes. */
  get size(): number {
    return this.#groups.size;
  }

  /** Records the object that the server returned for a write. */
  wrote(scope: string, resource: Resource, object: KubeObject): void {
    const { resourceVersion: version, uid: written } = object.metadata ?? {};
    // Versions that cannot be compared cannot be waited for.
    const isComparable = version !== undefined && isDecimal(version);
    const need: Need = isComparable ? { type: "version", version, written } : { type: "read" };
    this.#expect(scope, resource, { key: objectKey(object), need: () => need });
  }

  /**
   * Records that the server has removed the object. `version` is its last known version. Without one, the cache must contain
   * the uid now, or a live read is needed.
   */
  deleted(
    scope: string,
    resource: Resource,
    object: { readonly key: ObjectKey; readonly uid?: string | undefined; readonly version?: string | undefined },
  ): void {
    const { uid, version } = object;
    const key = keyOf(object.key);
    const need = (informer: Informer, earlier: Need | undefined): Need => {
      if (uid === undefined) return { type: "read" };
      const last = version ?? (earlier?.type === "version" ? earlier.version : undefined);
      if (last !== undefined && isDecimal(last)) return { type: "version", version: last, gone: uid };
      return informer.get(key)?.metadata?.uid === uid ? { type: "gone", uid } : { type: "read" };
    };
    this.#expect(scope, resource, { key, need });
  }

  /** Records a write with an unknown result, or one that the server rejected because the cache is stale. Without a name: a create with `generateName`. */
  uncertain(scope: string, resource: Resource, key: ObjectKey | { readonly namespace?: string }): void {
    if ("name" in key) this.#expect(scope, resource, { key: keyOf(key), need: () => ({ type: "read" }) });
    else this.#expect(scope, resource, { key: `${key.namespace ?? ""}/`, need: () => ({ type: "list" }) });
  }

  isCaughtUp(scope: string): boolean {
    return !this.#groups.has(scope);
  }

  /**
   * Called with a scope when an object it wrote was deleted before any cache contained it. A list that skips both the create
   * and the delete produces no change, so nothing else would trigger the scope.
   */
  onVanished(listener: (scope: string) => void): Disposable {
    this.#onVanished.add(listener);
    return { [Symbol.dispose]: () => this.#onVanished.delete(listener) };
  }

  /** Whether a live read is needed to know the result of the scope's last writes. */
  isUncertain(scope: string): boolean {
    return [...(this.#groups.get(scope)?.waits.values() ?? [])].some(({ need }) => needsLiveRead(need));
  }

  /** Resolves when the caches contain all writes of the scope. Rejects when a live read fails or when aborted. */
  async caughtUp(scope: string, signal?: AbortSignal): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      const group = this.#groups.get(scope);
      if (group === undefined) return;
      const unknown = [...group.waits.values()].filter(({ need }) => needsLiveRead(need));
      if (unknown.length > 0) await this.#readLive(unknown, signal);
      else if (!(await this.#empties(group, signal))) await this.#readLive([...group.waits.values()], signal);
    }
  }

  [Symbol.dispose](): void {
    for (const lag of this.#lags.values()) lag[Symbol.dispose]();
    this.#lags.clear();
    this.#groups.clear();
  }

  #expect(
    scope: string,
    resource: Resource,
    { key, need }: { key: string; need: (informer: Informer, earlier: Need | undefined) => Need },
  ): void {
    for (const informer of this.#informers.of(resource)) {
      const { namespace } = informer.scope;
      if (namespace !== undefined && parseKey(key).namespace !== namespace) continue;
      const lag = this.#lagOf(informer);
      const group = this.#groups.get(scope) ?? { waits: new Map(), onEmpty: new Set() };
      this.#groups.set(scope, group);
      const id = `${lag.id} ${key}`;
      const earlier = group.waits.get(id);
      if (earlier !== undefined) lag.remove(earlier);
      const onSettled = (): void => this.#settle(scope, group, { id, wait });
      const combined = combineNeeds(earlier?.need, need(informer, earlier?.need));
      const wait: Wait = { lag, key, need: combined, onSettled, position: -1 };
      group.waits.set(id, wait);
      lag.add(wait);
    }
  }

  #settle(scope: string, group: Group, { id, wait }: { id: string; wait: Wait }): void {
    // A later write may have replaced this wait during a live read.
    if (group.waits.get(id) !== wait) return;
    group.waits.delete(id);
    if (wait.lag.hasVanished(wait)) for (const listener of this.#onVanished) listener(scope);
    if (group.waits.size > 0) return;
    this.#groups.delete(scope);
    for (const wake of group.onEmpty) wake();
  }

  /** True if the caches caught up, false if the watch was too slow. */
  #empties(group: Group, signal: AbortSignal | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer[Symbol.dispose]();
        signal?.removeEventListener("abort", end);
        group.onEmpty.delete(end);
        resolve(group.waits.size === 0);
      };
      const timer = this.#scheduler.schedule(this.#liveReadAfterMs, end);
      signal?.addEventListener("abort", end);
      group.onEmpty.add(end);
    });
  }

  async #readLive(waits: readonly Wait[], signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const byPlace = Map.groupBy(waits, ({ lag, key }) => `${lag.id} ${parseKey(key).namespace}`);
    await Promise.all(Array.from(byPlace.values(), (together) => this.#readPlace(together, signal)));
  }

  async #readPlace(waits: readonly Wait[], signal: AbortSignal | undefined): Promise<void> {
    const [first] = waits;
    if (first === undefined) return;
    const { client } = this.#informers;
    const { informer } = first.lag;
    if (waits.length > mostSingleReads || waits.some(({ need }) => need.type === "list")) {
      const namespace = parseKey(first.key).namespace || undefined;
      const version = await readNamespace(client, informer, { namespace, signal });
      for (const wait of waits) settleRead(wait, version);
      return;
    }
    const read = async (wait: Wait): Promise<void> =>
      settleRead(wait, await readObject(client, informer, { key: wait.key, signal }));
    await Promise.all(waits.map(read));
  }

  #lagOf(informer: Informer): Lag {
    let lag = this.#lags.get(informer);
    if (lag === undefined) {
      lag = new Lag(this.#lags.size, informer);
      this.#lags.set(informer, lag);
    }
    return lag;
  }
}

/** Settles a wait after a live read at `version`, unless the API server that was asked is itself behind the write. */
function settleRead(wait: Wait, version: string): void {
  const { need, lag, key } = wait;
  if (need.type !== "version" || (compareVersions(version, need.version) ?? 0) >= 0) {
    lag.remove(wait);
    wait.onSettled();
  }
  lag.recheck(key);
}
