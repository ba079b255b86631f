import type { IncomingMessage, ServerResponse } from "node:http";
import { notFound } from "../http/http-error.ts";
import type { Account } from "../keys/accounts.ts";

/** A request to a control API, by a caller whose key was verified. */
export interface ApiCall<Context> {
  readonly context: Context;
  readonly account: Account;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** The parts of the path that the route leaves open. */
  readonly params: readonly string[];
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** A method, or `*` for all of them; a path whose groups are the parameters; and what serves it. */
export type Route<Handler> = readonly [method: string, path: RegExp, handler: Handler];

/** The first route for a request. Throws 404 if there is none. */
export function findRoute<Handler>(
  routes: readonly Route<Handler>[],
  method: string,
  pathname: string,
): { readonly handler: Handler; readonly params: readonly string[] } {
  for (const [wanted, path, handler] of routes) {
    const match = wanted === "*" || wanted === method ? path.exec(pathname) : null;
    if (match !== null) return { handler, params: match.slice(1).map(decodeSafely) };
  }
  throw notFound(`${method} ${pathname.slice(0, 100)} is not part of this API`);
}

/** Aborted when the client disconnects. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  return gone.signal;
}

/** Nothing has a name that cannot be decoded. */
function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
