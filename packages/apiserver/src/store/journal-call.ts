import type { Compaction, JournalRow } from "./journal.ts";

/** What a store asks of the thread that keeps its journal. */
export type JournalCall =
  | { readonly do: "open"; readonly path: string }
  /** Rows of a run that is over were decided on what could not be saved. */
  | { readonly do: "append"; readonly run: number; readonly rows: readonly JournalRow[] }
  | ({ readonly do: "compact" } & Compaction)
  | { readonly do: "tidy" }
  | { readonly do: "backUp"; readonly folder: string; readonly path: string }
  | { readonly do: "close" };

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
