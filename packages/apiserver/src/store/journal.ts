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
  /** Saves all or nothing; returns when they would survive the loss of the process and of power. */
  append(rows: readonly JournalRow[]): void;
  compact(compaction: Compaction): void;
  /** Whether `tidy` can no longer wait for a quiet moment. */
  readonly overdue: boolean;
  /** House-keeping that would be in a writer's way. */
  tidy(): void;
  close(): void;
}

/** Keeps nothing: a store over it lives as long as the process. */
export const memoryJournal: Journal = {
  append: () => undefined,
  compact: () => undefined,
  overdue: false,
  tidy: () => undefined,
  close: () => undefined,
};
