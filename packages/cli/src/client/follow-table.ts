import { setTimeout as delay } from "node:timers/promises";
import type { Transport, WatchEvent } from "@agent-sandbox/kube/requests";
import { fetchJson, RefusedError, refused } from "./discovery.ts";
import type { Table } from "./table.ts";

export const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** The pause before a watch is opened again. It doubles as long as the server ends each watch at once. */
const firstPauseMs = 500;
const longestPauseMs = 30_000;
/** A watch that lasted this long was healthy. */
const healthyMs = 10_000;

export interface FollowOptions {
  readonly sleep?: (ms: number) => Promise<unknown>;
  readonly now?: () => number;
}

/**
 * The rows of a collection, and then a table with the rows of each change, without an end. When the server ends the watch, it continues
 * after the last change. If the server has forgotten that version, the rows are read again and only those that differ are returned.
 *
 * @param path Ends with a query, which may be empty.
 */
export async function* followTable(
  transport: Transport,
  path: string,
  { sleep = delay, now = () => performance.now() }: FollowOptions = {},
): AsyncGenerator<Table, never> {
  const state = new TableState();
  let pauseMs = firstPauseMs;
  yield* state.readList((await fetchJson(transport, path, tableType)) as ListedTable);
  for (;;) {
    const opened = now();
    const isExpired = yield* watchOnce(transport, path, state);
    pauseMs = now() - opened >= healthyMs ? firstPauseMs : Math.min(pauseMs * 2, longestPauseMs);
    await sleep(pauseMs);
    if (isExpired) yield* state.readList((await fetchJson(transport, path, tableType)) as ListedTable);
  }
}

/** Follows one watch until the server ends it. Returns whether the server has forgotten the version at which it begins. */
async function* watchOnce(transport: Transport, path: string, state: TableState): AsyncGenerator<Table, boolean> {
  const watch = `${path}&watch=true&resourceVersion=${encodeURIComponent(state.version)}`;
  const { status, body, events } = await transport.stream({
    method: "GET",
    path: watch,
    headers: { accept: tableType },
  });
  if (status === goneStatus) return true;
  if (events === undefined) throw refused(path, status, body);
  for await (const batch of events) {
    for (const event of batch) {
      if (event.type === "ERROR") {
        const { code = 500, message = "the server ended the watch" } = event.object as {
          code?: number;
          message?: string;
        };
        if (code === goneStatus) return true;
        throw new RefusedError(message, code);
      }
      const table = state.readEvent(event);
      if (table !== undefined) yield table;
    }
  }
  return false;
}

const goneStatus = 410;

type ListedTable = Table & { readonly metadata?: { readonly resourceVersion?: string } };
type Row = Table["rows"][number];

/** What was returned, and the version at which the next watch begins. */
class TableState {
  #columns: Table["columnDefinitions"] = [];
  /** The version of each object, by namespace and name. */
  #seen = new Map<string, string>();
  version = "";

  *readList({ columnDefinitions, rows, metadata }: ListedTable): Generator<Table> {
    const before = this.#seen;
    this.#columns = columnDefinitions;
    this.version = metadata?.resourceVersion ?? "";
    const all = rows ?? [];
    this.#seen = new Map(all.map((row) => [keyOf(row), versionOf(row)]));
    const changed = all.filter((row) => before.get(keyOf(row)) !== versionOf(row) || versionOf(row) === "");
    if (changed.length > 0) yield { columnDefinitions: this.#columns, rows: changed };
  }

  /** Only the first event of a watch names the columns. */
  readEvent({ type, object }: WatchEvent): Table | undefined {
    const { columnDefinitions, rows = [], metadata } = object as unknown as Partial<ListedTable>;
    if (columnDefinitions?.length) this.#columns = columnDefinitions;
    for (const row of rows ?? []) {
      this.version = versionOf(row) || this.version;
      if (type === "DELETED") this.#seen.delete(keyOf(row));
      else if (type !== "BOOKMARK") this.#seen.set(keyOf(row), versionOf(row));
    }
    this.version = metadata?.resourceVersion || this.version;
    return type === "BOOKMARK" || rows.length === 0 ? undefined : { columnDefinitions: this.#columns, rows };
  }
}

const keyOf = ({ object }: Row): string => `${object?.metadata?.namespace ?? ""}/${object?.metadata?.name ?? ""}`;

const versionOf = ({ object }: Row): string => object?.metadata?.resourceVersion ?? "";
