import type { Readable } from "node:stream";
import { ApiError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { Compactor } from "./compactor.ts";
import { defaultHistoryBounds, History, type HistoryBounds } from "./history.ts";
import type { Journal, JournalRow } from "./journal.ts";
import { NamespaceUsage } from "./namespace-usage.ts";
import type { ObjectCache } from "./object-cache.ts";
import { Objects } from "./objects.ts";
import type { Replayed } from "./replay.ts";
import { Saved } from "./saved.ts";
import type { Change, Decided, Follower, ResourceChange, Store, Stored, UsageCheck, View, Write } from "./store.ts";

export interface LogStoreOptions {
  readonly journal: Journal;
  /** The content of the journal when it was opened. */
  readonly state: Replayed;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: 8192 changes of each resource, 64 MiB, five minutes. */
  readonly history?: HistoryBounds;
  /** Makes a compressed backup; absent for a store in memory. */
  readonly backUp?: () => Promise<Readable>;
  /** Called after the journal is closed. */
  readonly onClosed?: () => void;
}

/** The limit of etcd, so that all objects can move to a cluster. */
const maxObjectBytes = 1.5 * 1024 * 1024;
/** Writes that wait for a commit. In-process callers could otherwise queue any number in one turn of the event loop. */
const maxQueued = 20_000;
/** Rows of one transaction. Bounds how long a commit blocks the event loop. */
const maxBatch = 1000;

interface Queued {
  readonly entry: (ResourceChange & { readonly row: JournalRow }) | undefined;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * The store. Each write is decided synchronously against the newest state, which includes unsaved writes. All writes
 * decided in one turn of the event loop are saved in one transaction. They are visible to readers and watches, and
 * acknowledged, only after that.
 */
export class LogStore implements Store {
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #compactor: Compactor;
  readonly #backUp: (() => Promise<Readable>) | undefined;
  readonly #onClosed: (() => void) | undefined;
  readonly #cache: ObjectCache;
  readonly #objects: Map<string, Objects>;
  readonly #histories: Map<string, History>;
  /** Includes writes that are not saved yet. */
  readonly #usage: NamespaceUsage;
  readonly #floor: number;
  readonly #listeners = new Set<{ resource: string | undefined; wake: (changes: readonly ResourceChange[]) => void }>();
  readonly #followers = new Map<string, Follower>();
  /** The newest unsaved change of each key. */
  readonly #staged = new Map<string, Change>();
  #queue: Queued[] = [];
  #flush: NodeJS.Immediate | undefined;
  #revision: number;
  #nextRevision: number;
  #closed = false;

  constructor(options: LogStoreOptions) {
    this.#journal = options.journal;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#backUp = options.backUp;
    this.#onClosed = options.onClosed;
    this.#cache = options.state.cache;
    this.#objects = options.state.objects;
    this.#histories = options.state.histories;
    this.#usage = new NamespaceUsage(this.#objects.values());
    this.#floor = options.state.floor;
    this.#revision = options.state.revision;
    this.#nextRevision = this.#revision + 1;
    const bounds = options.history ?? defaultHistoryBounds;
    this.#compactor = new Compactor({ ...options, bounds, histories: this.#histories });
    this.#compactor.compact();
  }

  get revision(): number {
    return this.#revision;
  }

  get(resource: string, key: string): Stored | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  count(resource: string): number {
    return this.#objects.get(resource)?.size ?? 0;
  }

  list(resource: string, prefix = ""): Iterable<Stored> {
    return this.#objects.get(resource)?.list(prefix) ?? [];
  }

  *staged(resource: string): Generator<ApiObject> {
    const prefix = stagedKey(resource, "");
    for (const [key, { stored }] of this.#staged) {
      if (stored !== undefined && key.startsWith(prefix)) yield stored.object;
    }
  }

  listAt(resource: string, revision: number, prefix = ""): readonly Stored[] | undefined {
    const later = this.#history(resource).after(revision);
    if (later === undefined) return undefined;
    const before = new Map<string, Stored | undefined>();
    for (const { key, previous } of later) {
      if (key.startsWith(prefix) && !before.has(key)) before.set(key, previous);
    }
    if (before.size === 0) return [...this.list(resource, prefix)];
    const found = new Map<string, Stored>(this.#objects.get(resource)?.entries(prefix) ?? []);
    for (const [key, stored] of before) {
      if (stored === undefined) found.delete(key);
      else found.set(key, stored);
    }
    return [...found].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, stored]) => stored);
  }

  position(resource: string, revision: number): number | undefined {
    return this.#history(resource).position(revision);
  }

  read(resource: string, position: number, limit: number): { changes: readonly Change[]; next: number } | undefined {
    return this.#history(resource).read(position, limit);
  }

  subscribe(resource: string | undefined, wake: (changes: readonly ResourceChange[]) => void): () => void {
    const listener = { resource, wake };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  follow(resource: string, follower: Follower): void {
    this.#followers.set(resource, follower);
  }

  async write<T>(decide: (view: View, revision: number) => Decided<T>): Promise<T> {
    if (this.#closed) throw new ApiError("ServiceUnavailable", "the server is shutting down");
    if (this.#queue.length >= maxQueued) {
      throw new ApiError("TooManyRequests", "too many writes are waiting to be saved", {
        details: { retryAfterSeconds: 1 },
      });
    }
    const view: View = { get: (resource, key) => this.#newest(resource, key) };
    let entry: Queued["entry"];
    let result: T;
    try {
      const decided = decide(view, this.#nextRevision);
      entry = decided.write && this.#stage(decided.write);
      ({ result } = decided);
    } catch (error) {
      await this.#safe(undefined);
      throw error;
    }
    await this.#safe(entry);
    return result;
  }

  /** Waits until all queued writes are saved, because the result of a decision may depend on them. */
  async #safe(entry: Queued["entry"]): Promise<void> {
    if (entry === undefined && this.#queue.length === 0) return;
    await new Promise<void>((done, failed) => {
      this.#queue.push({ entry, done, failed });
      this.#flush ??= setImmediate(() => this.#commitQueued());
    });
  }

  async backUp(): Promise<Readable> {
    if (this.#closed) throw new ApiError("ServiceUnavailable", "the server is shutting down");
    if (this.#backUp === undefined) throw new ApiError("BadRequest", "the server has no data folder to back up");
    return this.#backUp();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#compactor.stop();
    clearImmediate(this.#flush);
    while (this.#queue.length > 0) this.#commitQueued();
    this.#listeners.clear();
    this.#journal.close();
    this.#onClosed?.();
  }

  #newest(resource: string, key: string): Stored | undefined {
    const staged = this.#staged.get(stagedKey(resource, key));
    return staged === undefined ? this.get(resource, key) : staged.stored;
  }

  #stage({ resource, key, object, checkUsage }: Write): ResourceChange & { row: JournalRow } {
    const revision = this.#nextRevision;
    const atMs = this.#clock.now();
    const previous = this.#newest(resource, key);
    const json = object === undefined ? undefined : this.#serialize(object, key);
    const stored = json === undefined ? undefined : new Saved(this.#cache, { revision, key, json }, object);
    if (checkUsage !== undefined) this.#check(checkUsage, { key, previous, stored });
    const change: Change = { revision, atMs, key, stored, previous };
    this.#usage.change(key, previous, stored);
    this.#nextRevision += 1;
    this.#staged.set(stagedKey(resource, key), change);
    this.#followers.get(resource)?.decided(key, object);
    return {
      resource,
      change,
      row: { revision, resource, key, previous: previous?.revision, atMs, object: json },
    };
  }

  #serialize(object: ApiObject, key: string): string {
    const json = this.#cache.interner.stringify(object);
    if (Buffer.byteLength(json) > maxObjectBytes) {
      throw new ApiError("RequestEntityTooLarge", `Cannot save "${key}": it is larger than ${maxObjectBytes} bytes`);
    }
    return json;
  }

  #check(check: UsageCheck, { key, previous, stored }: Pick<Change, "key" | "previous" | "stored">): void {
    const before = this.#usage.after(key, undefined, undefined);
    const after = this.#usage.after(key, previous, stored);
    if (before === undefined || after === undefined) return;
    check({ before, after, totalBytes: this.#usage.bytes + after.bytes - before.bytes });
  }

  #commitQueued(): void {
    this.#flush = undefined;
    const batch = this.#queue.splice(0, maxBatch);
    try {
      const rows = batch.flatMap(({ entry }) => (entry === undefined ? [] : [entry.row]));
      if (rows.length > 0) this.#journal.append(rows);
    } catch (error) {
      this.#failAll(batch, error);
      return;
    }
    this.#publish(batch.flatMap(({ entry }) => (entry === undefined ? [] : [entry])));
    for (const { done } of batch) done();
    if (this.#closed) return;
    if (this.#queue.length > 0) this.#flush = setImmediate(() => this.#commitQueued());
    this.#compactor.afterCommit();
  }

  /** Fails all queued writes, because the later ones were decided on the state that could not be saved. */
  #failAll(batch: readonly Queued[], cause: unknown): void {
    const failed = [...batch, ...this.#queue.splice(0)];
    this.#staged.clear();
    for (const { entry } of failed) {
      if (entry !== undefined) this.#usage.change(entry.change.key, entry.change.stored, entry.change.previous);
    }
    for (const follower of this.#followers.values()) follower.undone();
    const why = cause instanceof Error ? cause.message : String(cause);
    this.#logger.error({ err: cause, writes: failed.length }, "writes could not be saved");
    const error = new ApiError("InternalError", `Cannot save the object: ${why}`, { cause });
    for (const queued of failed) queued.failed(error);
  }

  #publish(changes: readonly ResourceChange[]): void {
    for (const { resource, change } of changes) {
      const objects = this.#objects.get(resource) ?? new Objects();
      this.#objects.set(resource, objects);
      if (change.stored === undefined) objects.delete(change.key);
      else objects.set(change.key, change.stored);
      this.#history(resource).append(change);
      this.#revision = change.revision;
      const staged = stagedKey(resource, change.key);
      if (this.#staged.get(staged) === change) this.#staged.delete(staged);
    }
    const touched = new Set(changes.map(({ resource }) => resource));
    for (const { resource, wake } of this.#listeners) {
      if (resource === undefined ? touched.size > 0 : touched.has(resource)) wake(changes);
    }
  }

  #history(resource: string): History {
    const known = this.#histories.get(resource);
    if (known !== undefined) return known;
    const history = new History(this.#floor);
    this.#histories.set(resource, history);
    return history;
  }
}

const stagedKey = (resource: string, key: string): string => `${resource}\n${key}`;
