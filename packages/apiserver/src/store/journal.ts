/** One saved revision. `object` is JSON, absent for a deletion. `previous` is the revision that this one replaced. */
export interface JournalRow {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  readonly previous: number | undefined;
  readonly atMs: number;
  readonly object: string | undefined;
}

/** Rows to delete because no watch needs them, and for each resource the revision up to which its history is gone. */
export interface Compaction {
  readonly revisions: readonly number[];
  readonly floors: ReadonlyMap<string, number>;
}

/** The content of a journal. The rows are in the order of their revisions; replaying them gives the current objects. */
export interface LoadedJournal {
  readonly rows: Iterable<JournalRow>;
  readonly floors: ReadonlyMap<string, number>;
}

/** Durable storage of revisions. */
export interface Journal {
  /** Saves all rows or none. When it returns, they survive a crash and a power failure. */
  append(rows: readonly JournalRow[]): void;
  compact(compaction: Compaction): void;
  /** Whether `checkpoint` should be called now rather than when the store is idle. */
  readonly needsCheckpoint: boolean;
  /** Merges the write-ahead log into the main file, which blocks writes. */
  checkpoint(): void;
  close(): void;
}

/** Saves nothing, for a store that exists only in memory. */
export const memoryJournal: Journal = {
  append: () => undefined,
  compact: () => undefined,
  needsCheckpoint: false,
  checkpoint: () => undefined,
  close: () => undefined,
};
