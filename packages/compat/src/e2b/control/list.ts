import { listMachines } from "../../cluster/list-machines.ts";
import type { Machine } from "../../cluster/machine.ts";
import { matches, metadataOf } from "../../cluster/metadata.ts";
import { badRequest } from "../../http/http-error.ts";
import { sendJson } from "../../http/reply.ts";
import type { ControlCall } from "./context.ts";
import { parseMetadataQuery } from "./metadata-query.ts";
import { type Cursor, formatCursor, parseCursor } from "./page-cursor.ts";
import { isPaused, listedSandbox, templateOf } from "./sandbox-json.ts";

const states = ["running", "paused"] as const;
type State = (typeof states)[number];
const maxLimit = 100;

interface Filter {
  readonly states: readonly State[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly template: string | undefined;
  readonly startedAfter: number | undefined;
}

/** `GET /v2/sandboxes`: pages of the sandboxes of the caller's namespace that E2B clients created. */
export async function list({ account, query, response }: ControlCall): Promise<void> {
  const filter = readFilter(query);
  const isAscending = readOrder(query.get("order"));
  const limit = readLimit(query.get("limit"));
  const token = query.get("nextToken") ?? "";
  const after = token === "" ? undefined : parseCursor(token);
  const sorted = (await listMachines(account, "e2b")).filter((machine) => accepts(filter, machine)).toSorted(compare);
  const ordered = isAscending ? sorted : sorted.toReversed();
  const rest = after === undefined ? ordered : ordered.filter((machine) => isAfter(machine, after, isAscending));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const headers = rest.length > limit && last !== undefined ? { "x-next-token": formatCursor(cursorOf(last)) } : {};
  sendJson(response, 200, page.map(listedSandbox), headers);
}

/** `GET /sandboxes`, of older clients: running ones, without pages. */
export async function listAll({ account, query, response }: ControlCall): Promise<void> {
  const filter = { ...readFilter(query), states: ["running"] as const };
  const found = (await listMachines(account, "e2b")).filter((machine) => accepts(filter, machine));
  sendJson(response, 200, found.toSorted(compare).toReversed().map(listedSandbox));
}

function readFilter(query: URLSearchParams): Filter {
  const wanted = query
    .getAll("state")
    .flatMap((text) => text.split(","))
    .filter((text) => text !== "");
  const unknown = wanted.find((text) => !states.includes(text as State));
  if (unknown !== undefined) throw badRequest(`state can be ${states.join(" or ")}`);
  const startedAfter = query.get("startedAfter");
  const time = startedAfter === null ? undefined : Date.parse(startedAfter);
  if (Number.isNaN(time)) throw badRequest("startedAfter must be a time in RFC 3339");
  return {
    states: wanted.length === 0 ? states : (wanted as State[]),
    metadata: parseMetadataQuery(query.get("metadata") ?? ""),
    template: query.get("template") ?? undefined,
    startedAfter: time,
  };
}

function readOrder(text: string | null): boolean {
  if (text === null || text === "" || text === "desc") return false;
  if (text === "asc") return true;
  throw badRequest("order can be asc or desc");
}

function readLimit(text: string | null): number {
  if (text === null || text === "") return maxLimit;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) throw badRequest(`limit can be 1 to ${maxLimit}`);
  return limit;
}

function accepts(filter: Filter, machine: Machine): boolean {
  const { claim } = machine;
  if (claim === undefined || !filter.states.includes(isPaused(machine) ? "paused" : "running")) return false;
  if (!matches(metadataOf(claim), filter.metadata)) return false;
  if (filter.template !== undefined && templateOf(machine) !== filter.template) return false;
  return filter.startedAfter === undefined || cursorOf(machine).startedMs > filter.startedAfter;
}

const cursorOf = ({ claim, name }: Machine): Cursor => ({
  startedMs: Date.parse(claim?.metadata.creationTimestamp ?? "") || 0,
  name,
});

/** By start, and by name among those of the same second, so that the order never changes. */
const compare = (a: Machine, b: Machine): number => compareCursors(cursorOf(a), cursorOf(b));

function compareCursors(a: Cursor, b: Cursor): number {
  if (a.startedMs !== b.startedMs) return a.startedMs - b.startedMs;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function isAfter(machine: Machine, cursor: Cursor, isAscending: boolean): boolean {
  const order = compareCursors(cursorOf(machine), cursor);
  return isAscending ? order > 0 : order < 0;
}
