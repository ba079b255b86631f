import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Reply, WatchReply } from "../request/api-request.ts";

/** A watcher that takes nothing for this long is cut off; what it has not taken stays in the shared history. */
const stalledMs = 60_000;

export async function writeReply(response: ServerResponse, reply: Reply): Promise<void> {
  if (response.destroyed) return;
  if (reply.kind === "watch") return writeWatch(response, reply);
  const text = reply.kind === "text" ? reply.text : JSON.stringify(reply.body);
  const type = reply.kind === "text" ? "text/plain; charset=utf-8" : "application/json";
  response.writeHead(reply.status, {
    ...reply.headers,
    "content-type": type,
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-cache, private",
  });
  response.end(text);
}

/** One line of JSON for each event, as fast as the client takes them. */
async function writeWatch(response: ServerResponse, { headers, status, events }: WatchReply): Promise<void> {
  response.writeHead(status, { ...headers, "content-type": "application/json", "cache-control": "no-cache, private" });
  response.flushHeaders();
  for await (const batch of events) {
    if (response.destroyed) break;
    const lines = batch.map((event) => `${JSON.stringify(event)}\n`).join("");
    if (lines !== "" && !response.write(lines)) await drained(response);
  }
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  const stop = new AbortController();
  const timer = setTimeout(() => response.destroy(), stalledMs);
  try {
    await Promise.race([
      once(response, "drain", { signal: stop.signal }),
      once(response, "close", { signal: stop.signal }),
    ]);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}
