import { listMachines } from "../../cluster/list-machines.ts";
import type { Machine } from "../../cluster/machine.ts";
import { matches, metadataOf } from "../../cluster/metadata.ts";
import { sendJson } from "../../http/reply.ts";
import { invalidParameter } from "../failure.ts";
import type { LifecycleCall } from "./context.ts";
import { parseMetadataFilter } from "./metadata-filter.ts";
import { sandboxJson } from "./sandbox-json.ts";
import { statusOf } from "./state.ts";

const usualPageSize = 20;
const maxPageSize = 200;

/** `GET /v1/sandboxes`: what OpenSandbox's clients created in the caller's namespace, the newest first. */
export async function list({ account, query, response }: LifecycleCall): Promise<void> {
  const states = new Set(query.getAll("state").map((state) => state.toLowerCase()));
  const metadata = parseMetadataFilter(query.get("metadata") ?? "");
  const isWanted = (machine: Machine): boolean => {
    const owner = machine.claim ?? machine.sandbox;
    const isInState = states.size === 0 || states.has(statusOf(machine).state.toLowerCase());
    return isInState && owner !== undefined && matches(metadataOf(owner), metadata);
  };
  const found = (await listMachines(account, "opensandbox")).filter(isWanted).toSorted(newestFirst);
  sendPage({ query, response }, found, sandboxJson);
}

/** Sends the page of a list that the query names. */
export function sendPage<T>(
  { query, response }: Pick<LifecycleCall, "query" | "response">,
  found: readonly T[],
  shown: (item: T) => object,
): void {
  const page = readCount(query, "page", 1, Number.MAX_SAFE_INTEGER);
  const pageSize = readCount(query, "pageSize", usualPageSize, maxPageSize);
  const totalPages = Math.ceil(found.length / pageSize);
  const items = found.slice((page - 1) * pageSize, page * pageSize).map(shown);
  const pagination = { page, pageSize, totalItems: found.length, totalPages, hasNextPage: page < totalPages };
  sendJson(response, 200, { items, pagination });
}

function readCount(query: URLSearchParams, name: string, usual: number, max: number): number {
  const text = query.get(name);
  if (text === null) return usual;
  const count = Number(text);
  if (!/^\d{1,16}$/.test(text) || count < 1 || count > max) {
    throw invalidParameter(
      max === Number.MAX_SAFE_INTEGER ? `${name} must be 1 or more` : `${name} can be 1 to ${max}`,
    );
  }
  return count;
}

/** By creation, and by name among those of the same second. */
function newestFirst(a: Machine, b: Machine): number {
  const [left, right] = [keyOf(a), keyOf(b)];
  return left < right ? 1 : left > right ? -1 : 0;
}

const keyOf = ({ claim, sandbox, name }: Machine): string =>
  `${(claim ?? sandbox)?.metadata.creationTimestamp ?? ""} ${name}`;
