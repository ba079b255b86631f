import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { commonHeaders } from "./http-refusal.ts";

/** A client that reads nothing for so long has gone. */
const stalledMs = 60_000;

/** Sends a response as it is made. Resolves when it has ended; a client that has gone ends the making of it. */
export async function sendResponse(
  response: ServerResponse,
  made: Response,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const own = Object.fromEntries([...made.headers].filter(([name]) => name !== "connection"));
  response.writeHead(made.status, { ...commonHeaders, ...own, ...headers });
  if (made.body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  // The type of the library's streams lacks the iterator, which Node has.
  for await (const chunk of made.body as unknown as AsyncIterable<Uint8Array>) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await drained(response);
  }
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  const timer = setTimeout(() => response.destroy(), stalledMs).unref();
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  } finally {
    clearTimeout(timer);
    waiting.abort();
  }
}
