import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { commonHeaders, dataPolicy } from "./headers.ts";
import { noSession } from "./http-failure.ts";
import type { Session } from "./sessions.ts";
import type { Upstream } from "./upstream.ts";

/** Everything else is dropped: cookies, impersonation, forwarding headers. */
const sentHeaders: readonly string[] = [
  "accept",
  "connect-protocol-version",
  "connect-timeout-ms",
  "content-length",
  "content-type",
  "if-match",
  "if-none-match",
  "range",
  "traceparent",
  "x-request-age",
  "x-request-id",
  "x-sandbox-id",
  "x-sandbox-namespace",
  "x-sandbox-port",
  "x-sandbox-uid",
];

/** A sandbox may have written the response: it sets no cookies, redirects nothing and changes no policy of this origin. */
const receivedHeaders: readonly string[] = [
  "content-length",
  "content-range",
  "content-type",
  "etag",
  "last-modified",
  "retry-after",
  "warning",
  "x-file-mode",
  "x-more-entries",
  "x-sandbox-epoch",
  "x-sandbox-reason",
];

/** The headers of a request of the page that a server gets. */
export function sendableHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  return pick(headers, sentHeaders);
}

/** The headers of a response that the page gets. */
export function receivableHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  return pick(headers, receivedHeaders);
}

function pick(from: IncomingHttpHeaders, names: readonly string[]): Record<string, string | string[]> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = from[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Sends a request of the page to a server as the user of the session, and relays the response as data. */
export async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { upstream, path, session }: { readonly upstream: Upstream; readonly path: string; readonly session: Session },
): Promise<number> {
  const closed = new AbortController();
  const abort = (): void => closed.abort();
  response.once("close", abort);
  const hasBody = request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined;
  const sent = {
    method: request.method ?? "GET",
    path,
    session,
    headers: sendableHeaders(request.headers),
    signal: AbortSignal.any([closed.signal, session.signal]),
    ...(hasBody && { body: request }),
  };
  const answer = await upstream.send(sent).catch((error: unknown) => {
    // The user logged out while the request was on its way.
    throw session.signal.aborted ? noSession() : error;
  });
  const status = answer.statusCode ?? 502;
  response.writeHead(status, {
    ...receivableHeaders(answer.headers),
    ...commonHeaders,
    "content-security-policy": dataPolicy,
    "content-disposition": "attachment",
  });
  // The page shows the first byte of a watch when it arrives, and its head before that.
  response.flushHeaders();
  await pipeline(answer, response).catch(() => response.destroy());
  return status;
}
