import { ApiError, badRequest, expired } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Query } from "../request/query.ts";
import type { Target } from "../request/target.ts";
import { toVersion } from "../resources/versions.ts";
import type { Store, Stored } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import { type ListOptions, parseListOptions } from "./list-options.ts";
import { Pacer } from "./pacer.ts";
import { parseSelection, type Selection } from "./selection.ts";

export interface ListResult {
  readonly stored: readonly Stored[];
  /** `stored`, in the version of the request. Converted when it is read. */
  readonly items: readonly ApiObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** Lists objects as of one revision, which all pages share. Pauses while it filters, so that other requests are served. */
export async function list(context: ApiContext, target: Target, query: Query): Promise<ListResult> {
  const { store } = context;
  const selection = parseSelection(query, target.definition);
  const options = parseListOptions(query, "list");
  const { limit, continueToken } = options;
  const start = continueToken === undefined ? undefined : decodeContinue(continueToken);
  if (start !== undefined && !isLatest(options)) {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const revision = start?.revision ?? listRevision(store, options);
  const prefix = target.namespace === undefined ? "" : `${target.namespace}/`;
  const found = storedAt(store, { resource: target.definition.id, revision, prefix, paging: start !== undefined });
  const page = await takePage([...found], { after: start?.after, limit, selection });
  const metadata = {
    resourceVersion: String(revision),
    ...(page.last === undefined ? {} : { continue: encodeContinue({ revision, after: page.last }) }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
  const { definition, version } = target;
  return {
    stored: page.items,
    get items() {
      return page.items.map(({ object }) => toVersion(definition, object, version));
    },
    metadata,
  };
}

const isLatest = ({ resourceVersion }: ListOptions): boolean => resourceVersion === "" || resourceVersion === "0";

/** The revision to list: the newest, unless the request asks for an exact one. */
function listRevision(store: Store, { resourceVersion, match, limit }: ListOptions): number {
  const revision = parseRevision(resourceVersion);
  if (revision > store.revision) throw tooNew(revision, store.revision);
  // Without resourceVersionMatch, a limit and a revision mean that exact revision: they are older than the match option.
  const exact = match === "Exact" || (match === undefined && limit > 0 && revision > 0);
  return exact ? revision : store.revision;
}

export function parseRevision(text: string): number {
  if (text === "") return 0;
  if (!/^\d{1,15}$/.test(text))
    throw badRequest(`Invalid value: "${text}": resourceVersion must be a number that the server returned`);
  return Number(text);
}

export function tooNew(asked: number, current: number): ApiError {
  return new ApiError("Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
}

interface ListedRange {
  readonly resource: string;
  readonly revision: number;
  readonly prefix: string;
  readonly paging: boolean;
}

function storedAt(store: Store, { resource, revision, prefix, paging }: ListedRange): Iterable<Stored> {
  if (revision === store.revision) return store.list(resource, prefix);
  if (revision > store.revision) throw tooNew(revision, store.revision);
  const stored = store.listAt(resource, revision, prefix);
  if (stored !== undefined) return stored;
  throw expired(
    paging
      ? "The provided continue parameter is too old to display a consistent list result. Start a new list without it."
      : `The resourceVersion for the provided list is too old: ${revision}`,
  );
}

interface PageOptions {
  readonly after: string | undefined;
  readonly limit: number;
  readonly selection: Selection;
}

interface Page {
  readonly items: Stored[];
  /** The key of the last item, when more follow. */
  readonly last?: string;
  /** How many follow. Not counted for lists with selectors, as in kube-apiserver. */
  readonly remaining?: number;
}

async function takePage(found: readonly Stored[], { after, limit, selection }: PageOptions): Promise<Page> {
  const items: Stored[] = [];
  const pacer = new Pacer();
  let more = 0;
  for (const stored of found) {
    if (after !== undefined && stored.key <= after) continue;
    if (!selection.everything) {
      const pause = selection.readsObjects ? pacer.next(stored.json.length) : undefined;
      if (pause !== undefined) await pause;
      if (!selection.matches(stored)) continue;
    }
    if (limit > 0 && items.length === limit) {
      more += 1;
      if (!selection.everything) break;
      continue;
    }
    items.push(stored);
  }
  if (more === 0) return { items };
  const last = (items.at(-1) as Stored).key;
  return selection.everything ? { items, last, remaining: more } : { items, last };
}
