import { KubeError } from "../errors.ts";
import type { KubeObject } from "../resource.ts";
import type { ApiCall } from "./api-call.ts";
import type { ObjectLog } from "./object-log.ts";
import type { Matches } from "./selectors.ts";

/** The remaining objects of a list. All pages have the version of the first one. */
interface Rest {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
}

/** Above what tests need. The oldest list is dropped. */
const mostOpenLists = 100;

/** Lists objects, optionally in pages. */
export class Pages {
  readonly #rests = new Map<string, Rest>();
  #tokens = 0;

  /** Expires all continue tokens. */
  clear(): void {
    this.#rests.clear();
  }

  list(call: ApiCall, { log, filter }: { readonly log: ObjectLog; readonly filter: Matches }): object {
    const token = call.query.get("continue");
    const from = token === null ? first(call, { log, filter }) : this.#rests.get(token);
    if (from === undefined) throw new KubeError("Expired", "the continue token is too old");
    const limit = Number(call.query.get("limit") ?? 0);
    const items = limit > 0 ? from.items.slice(0, limit) : from.items;
    const rest = { items: from.items.slice(items.length), resourceVersion: from.resourceVersion };
    const next = rest.items.length > 0 ? { continue: this.#keep(rest) } : {};
    const { apiVersion, kind } = call.resource;
    return { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: from.resourceVersion, ...next }, items };
  }

  #keep(rest: Rest): string {
    this.#tokens += 1;
    const token = `page-${this.#tokens}`;
    this.#rests.set(token, rest);
    const oldest = this.#rests.keys().next().value;
    if (this.#rests.size > mostOpenLists && oldest !== undefined) this.#rests.delete(oldest);
    return token;
  }
}

function first(call: ApiCall, { log, filter }: { readonly log: ObjectLog; readonly filter: Matches }): Rest {
  if (call.query.get("resourceVersionMatch") === "Exact") {
    throw new KubeError("BadRequest", "resourceVersionMatch Exact is not supported in memory");
  }
  return { items: log.list(call.resource).filter(filter), resourceVersion: String(log.version) };
}
