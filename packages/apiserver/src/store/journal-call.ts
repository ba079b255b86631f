import type { Compaction, JournalRow } from "./journal.ts";

/** What a store asks of the thread that keeps its journal. */
export type JournalCall =
  | { readonly do: "open"; readonly path: string }
  /** Rows of a run that is over were decided on what could not be saved. */
  | { readonly do: "append"; readonly run: number; readonly rows: PackedRows }
  | ({ readonly do: "compact" } & Compaction)
  | { readonly do: "tidy" }
  | { readonly do: "backUp"; readonly folder: string; readonly path: string }
  | { readonly do: "close" };

/** Six cells a row: a thread is told the names of members again with every object that it is sent. */
export type PackedRows = readonly (string | number | undefined)[];

const cellsPerRow = 6;

export function packRows(rows: readonly JournalRow[]): PackedRows {
  const cells: (string | number | undefined)[] = [];
  for (const { revision, resource, key, previous, atMs, object } of rows) {
    cells.push(revision, resource, key, previous, atMs, object);
  }
  return cells;
}

export const rowCount = (rows: PackedRows): number => rows.length / cellsPerRow;

export function* unpackRows(rows: PackedRows): Generator<JournalRow> {
  for (let at = 0; at < rows.length; at += cellsPerRow) {
    const [revision, resource, key, previous, atMs, object] = rows.slice(at, at + cellsPerRow);
    yield { revision, resource, key, previous, atMs, object } as JournalRow;
  }
}

export type NumberedCall = JournalCall & { readonly id: number };

export interface JournalReply {
  /** Which calls are done, in their order. */
  readonly ids: readonly number[];
  /** Why they could not be. */
  readonly error?: unknown;
  /** The run whose rows are saved from now on. */
  readonly run: number;
  readonly overdue: boolean;
}
