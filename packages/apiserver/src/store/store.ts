import type { Readable } from "node:stream";
import type { ApiObject } from "../api-object.ts";
import type { Usage } from "./namespace-usage.ts";

/** An object as it was saved at one revision. */
export interface Stored {
  readonly revision: number;
  readonly key: string;
  /** What was saved. Reading `object` from it takes a while: who can do with the text should. */
  readonly json: string;
  readonly object: ApiObject;
  readonly labels: Readonly<Record<string, string>>;
}

/** One revision: `stored` is absent when it deleted, `previous` when it created. */
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

/** What a write wants saved. `object` absent deletes; present, it must carry the revision it was decided with. */
export interface Write {
  readonly resource: string;
  readonly key: string;
  readonly object: ApiObject | undefined;
  /** Asked before the write is accepted, when it is one in a namespace. */
  readonly checkUsage?: UsageCheck | undefined;
}

/** Refuses, by throwing, a change of what a namespace stores. `totalBytes`: what all namespaces would store. */
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
 * Current objects in memory, every change in a durable log. A revision is one write; revisions only grow, across
 * restarts too.
 */
export interface Store extends View {
  /** The newest saved revision. */
  readonly revision: number;
  /** How many objects of a resource are saved. */
  count(resource: string): number;
  /** Saved objects whose key starts with `prefix`, in order of their keys. */
  list(resource: string, prefix?: string): Iterable<Stored>;
  /** The same as of an earlier revision; `undefined` when the history no longer reaches back to it. */
  listAt(resource: string, revision: number, prefix?: string): readonly Stored[] | undefined;
  /** Objects of a resource whose writes are decided but not yet saved. */
  staged(resource: string): Iterable<ApiObject>;
  /**
   * Runs `decide` at once, with the next revision and a view that includes writes still on their way to the disk.
   * Settles when the write, and all the view showed, is durable. What `decide` throws rejects, and nothing changes.
   */
  write<T>(decide: (view: View, revision: number) => Decided<T>): Promise<T>;
  /** Where in the history a watch from `revision` starts; `undefined` when that is no longer known. */
  position(resource: string, revision: number): number | undefined;
  /** The changes from a position on; `undefined` when the reader has fallen behind the history. */
  read(resource: string, position: number, limit: number): { changes: readonly Change[]; next: number } | undefined;
  /** Calls `wake` after each commit that touched the resource (or any, when absent). Returns the way to stop it. */
  subscribe(resource: string | undefined, wake: (changes: readonly ResourceChange[]) => void): () => void;
  /** Everything that is kept, at one moment and packed, for `restoreFolder`. Whoever gets it must read or destroy it. */
  backUp(): Promise<Readable>;
  close(): Promise<void>;
}

export interface ResourceChange {
  readonly resource: string;
  readonly change: Change;
}
