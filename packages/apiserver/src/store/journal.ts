/** One revision as it is saved. `object` is JSON, absent for a deletion; `previous` is the revision it replaced. */
export interface JournalRow {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  readonly previous: number | undefined;
  readonly atMs: number;
  readonly object: string | undefined;
}

/** What changes no longer wanted for watches leave behind: rows to forget, and how far each resource was forgotten. */
export interface Compaction {
  readonly revisions: readonly number[];
  readonly floors: ReadonlyMap<string, number>;
}

/** What a journal holds: replaying the rows, which are in the order of their revisions, gives the current objects. */
export interface LoadedJournal {
  readonly rows: Iterable<JournalRow>;
  readonly floors: ReadonlyMap<string, number>;
}

/** Where the store keeps its revisions. */
export interface Journal {
  /**
   * Saves all or nothing; settles when they would survive the loss of the process and of power. Saved in the order of the
   * calls: once one has failed, those that were called before its failure was told fail too.
   */
  append(rows: readonly JournalRow[]): Promise<void>;
  compact(compaction: Compaction): Promise<void>;
  /** Whether `tidy` can no longer wait for a quiet moment. */
  readonly overdue: boolean;
  /** House-keeping that would be in a writer's way. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** Keeps nothing: a store over it lives as long as the process. */
export const memoryJournal: Journal = {
  append: () => Promise.resolve(),
  compact: () => Promise.resolve(),
  overdue: false,
  tidy: () => Promise.resolve(),
  close: () => Promise.resolve(),
};
