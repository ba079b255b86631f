import type { Readable } from "node:stream";
import type { ApiObject } from "../api-object.ts";
import type { Usage } from "./namespace-usage.ts";

/** One saved revision of an object. */
export interface Stored {
  readonly revision: number;
  readonly key: string;
  /** The saved text. Prefer it to `object`, which may have to be parsed. */
  readonly json: string;
  readonly object: ApiObject;
  readonly labels: Readonly<Record<string, string>>;
}

/** One revision. `stored` is absent for a deletion, `previous` for a creation. */
export interface Change {
  readonly revision: number;
  readonly atMs: number;
  readonly key: string;
  readonly stored: Stored | undefined;
  readonly previous: Stored | undefined;
}

export interface View {
  get(resource: string, key: string): Stored | undefined;
}

/** A decided write. Deletes the object if `object` is absent; otherwise `object` must contain the revision of the decision. */
export interface Write {
  readonly resource: string;
  readonly key: string;
  readonly object: ApiObject | undefined;
  /** Called before the write is accepted, if the object is in a namespace. */
  readonly checkUsage?: UsageCheck | undefined;
}

/** Throws if a namespace may not store this change. `totalBytes`: what all namespaces would store after it. */
export type UsageCheck = (change: {
  readonly before: Usage;
  readonly after: Usage;
  readonly totalBytes: number;
}) => void;

export interface Decided<T> {
  readonly write?: Write | undefined;
  readonly result: T;
}

/**
 * Keeps current objects in memory and every change in a durable log. Each write has a revision. Revisions increase, also
 * across restarts.
 */
export interface Store extends View {
  /** The newest saved revision. */
  readonly revision: number;
  /** The number of saved objects of a resource. */
  count(resource: string): number;
  /** Saved objects whose key starts with `prefix`, sorted by key. */
  list(resource: string, prefix?: string): Iterable<Stored>;
  /** The same as of an earlier revision; `undefined` if that is no longer in the history. */
  listAt(resource: string, revision: number, prefix?: string): readonly Stored[] | undefined;
  /** Objects of a resource whose writes are decided but not saved. */
  staged(resource: string): Iterable<ApiObject>;
  /**
   * Calls `decide` synchronously, with the next revision and a view that includes unsaved writes. The promise settles when
   * the write and everything in the view is durable. If `decide` throws, the promise rejects and nothing changes.
   */
  write<T>(decide: (view: View, revision: number) => Decided<T>): Promise<T>;
  /** Tells a follower about every write of a resource at the moment it is decided. */
  follow(resource: string, follower: Follower): void;
  /** The position in the history where a watch from `revision` starts; `undefined` if that is no longer in the history. */
  position(resource: string, revision: number): number | undefined;
  /** The changes from a position on; `undefined` if the history no longer contains them. */
  read(resource: string, position: number, limit: number): { changes: readonly Change[]; next: number } | undefined;
  /** Calls `wake` after each commit that changed the resource, or any resource if absent. Returns a function that unsubscribes. */
  subscribe(resource: string | undefined, wake: (changes: readonly ResourceChange[]) => void): () => void;
  /** A compressed backup for `restoreFolder`, as of one moment. The caller must read or destroy the stream. */
  backUp(): Promise<Readable>;
  close(): Promise<void>;
}

/** Keeps sums over the objects of a resource, which include writes that are not saved yet. */
export interface Follower {
  /** `object` is absent for a deletion. Must not throw. */
  decided(key: string, object: ApiObject | undefined): void;
  /** Decided writes could not be saved. Only saved objects exist now. */
  undone(): void;
}

export interface ResourceChange {
  readonly resource: string;
  readonly change: Change;
}
