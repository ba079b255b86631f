import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import { type KubeObject, keyOf, type ObjectKey, objectKey, parseKey, type Resource } from "../resource.ts";
import { compareVersions, isDecimal } from "../resource-version.ts";
import type { Informer } from "./informer.ts";
import type { Informers } from "./informers.ts";
import { combineNeeds, isUnsure, Lag, type Need, type Wait } from "./lag.ts";
import { lookAtNamespace, lookAtObject } from "./live-read.ts";

export interface FenceOptions {
  readonly informers: Informers;
  readonly scheduler?: Scheduler;
  /** How long the watch may lag before the objects are read from the server instead. Default 1 s. */
  readonly liveReadAfterMs?: number;
}

/**
 * The scope of one controller's work on one key. Another controller that changes what this one counts on (takes a member
 * of its pool, say) can record its write here as well.
 */
export function fenceScope(controller: string, key: string): string {
  return `${controller} ${key}`;
}

/** More objects than this to look at in one namespace, and one list of it is the cheaper way. */
const mostSingleReads = 8;

/** The writes of one scope that a cache has not shown yet. */
interface Group {
  readonly waits: Map<string, Wait>;
  readonly onEmpty: Set<() => void>;
}

/**
 * Read your own writes. Whoever writes records the answer under a scope (a controller and the key it works on); before
 * the scope's next pass, `caughtUp` waits until every cache shows those writes or something later. Normally the watch
 * brings that by itself; a live read does when the watch is late, and when the answer to a write was lost.
 *
 * Only resources that have an informer count: nobody can be misled by a cache that does not exist.
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

  /** Scopes with writes that are not shown yet. */
  get size(): number {
    return this.#groups.size;
  }

  /** The server answered a write with this object. */
  wrote(scope: string, resource: Resource, object: KubeObject): void {
    const { resourceVersion: version, uid: written } = object.metadata ?? {};
    // What cannot be compared cannot be waited for.
    const isComparable = version !== undefined && isDecimal(version);
    const need: Need = isComparable ? { type: "version", version, written } : { type: "look" };
    this.#expect(scope, resource, { key: objectKey(object), need: () => need });
  }

  /**
   * The server has removed the object. `version` is the last one known of it; without, the cache must show the uid now,
   * or only a live read can tell.
   */
  deleted(
    scope: string,
    resource: Resource,
    object: { readonly key: ObjectKey; readonly uid?: string | undefined; readonly version?: string | undefined },
  ): void {
    const { uid, version } = object;
    const key = keyOf(object.key);
    const need = (informer: Informer, earlier: Need | undefined): Need => {
      if (uid === undefined) return { type: "look" };
      const last = version ?? (earlier?.type === "version" ? earlier.version : undefined);
      if (last !== undefined && isDecimal(last)) return { type: "version", version: last, gone: uid };
      return informer.get(key)?.metadata?.uid === uid ? { type: "gone", uid } : { type: "look" };
    };
    this.#expect(scope, resource, { key, need });
  }

  /** Nobody knows whether the write was carried out, or the server contradicted the cache. Without a name: a create of one. */
  uncertain(scope: string, resource: Resource, key: ObjectKey | { readonly namespace?: string }): void {
    if ("name" in key) this.#expect(scope, resource, { key: keyOf(key), need: () => ({ type: "look" }) });
    else this.#expect(scope, resource, { key: `${key.namespace ?? ""}/`, need: () => ({ type: "look-around" }) });
  }

  isCaughtUp(scope: string): boolean {
    return !this.#groups.has(scope);
  }

  /**
   * Told of a scope when something it wrote went away before any cache showed it: a list that jumps over both the create
   * and the delete changes nothing, so nothing else would wake the scope.
   */
  onVanished(listener: (scope: string) => void): Disposable {
    this.#onVanished.add(listener);
    return { [Symbol.dispose]: () => this.#onVanished.delete(listener) };
  }

  /** Whether only a live read can tell what the scope's last writes did. */
  isUncertain(scope: string): boolean {
    return [...(this.#groups.get(scope)?.waits.values() ?? [])].some(({ need }) => isUnsure(need));
  }

  /** Settles when the caches show all the scope has written. Fails as the live read does, or when aborted. */
  async caughtUp(scope: string, signal?: AbortSignal): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      const group = this.#groups.get(scope);
      if (group === undefined) return;
      const unsure = [...group.waits.values()].filter(({ need }) => isUnsure(need));
      if (unsure.length > 0) await this.#lookAt(unsure, signal);
      else if (!(await this.#empties(group, signal))) await this.#lookAt([...group.waits.values()], signal);
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
    // While the server was read, a later write may have taken its place.
    if (group.waits.get(id) !== wait) return;
    group.waits.delete(id);
    if (wait.lag.hasVanished(wait)) for (const listener of this.#onVanished) listener(scope);
    if (group.waits.size > 0) return;
    this.#groups.delete(scope);
    for (const wake of group.onEmpty) wake();
  }

  /** True when all is shown, false when the watch was too slow. */
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

  async #lookAt(waits: readonly Wait[], signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const byPlace = Map.groupBy(waits, ({ lag, key }) => `${lag.id} ${parseKey(key).namespace}`);
    await Promise.all(Array.from(byPlace.values(), (together) => this.#lookAtPlace(together, signal)));
  }

  async #lookAtPlace(waits: readonly Wait[], signal: AbortSignal | undefined): Promise<void> {
    const [first] = waits;
    if (first === undefined) return;
    const { client } = this.#informers;
    const { informer } = first.lag;
    if (waits.length > mostSingleReads || waits.some(({ need }) => need.type === "look-around")) {
      const namespace = parseKey(first.key).namespace || undefined;
      const version = await lookAtNamespace(client, informer, { namespace, signal });
      for (const wait of waits) settleSeen(wait, version);
      return;
    }
    const look = async (wait: Wait): Promise<void> =>
      settleSeen(wait, await lookAtObject(client, informer, { key: wait.key, signal }));
    await Promise.all(waits.map(look));
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

/** The server has shown the object as of `version`: that settles it, unless this server is itself behind the write. */
function settleSeen(wait: Wait, version: string): void {
  const { need, lag, key } = wait;
  if (need.type !== "version" || (compareVersions(version, need.version) ?? 0) >= 0) {
    lag.remove(wait);
    wait.onSettled();
  }
  lag.recheck(key);
}
