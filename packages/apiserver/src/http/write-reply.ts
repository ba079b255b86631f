import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { WatchEvent } from "@agent-sandbox/kube";
import type { Reply, WatchReply } from "../request/api-request.ts";

/** A watcher that takes nothing for this long is cut off; what it has not taken stays in the shared history. */
const stalledMs = 60_000;

export async function writeReply(response: ServerResponse, reply: Reply): Promise<void> {
  if (response.destroyed) return;
  if (reply.kind === "watch") return writeWatch(response, reply);
  const text = reply.kind === "text" ? reply.text : JSON.stringify(reply.body);
  const type = reply.kind === "text" ? "text/plain; charset=utf-8" : "application/json";
  response.writeHead(reply.status, {
    "content-type": type,
    ...reply.headers,
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-cache, private",
  });
  response.end(text);
}

/** Small events travel together; with one large event, this is the most that waits for a client. */
const chunkLength = 64 * 1024;

/** One line of JSON for each event, as fast as the client takes them. */
async function writeWatch(response: ServerResponse, { headers, status, events }: WatchReply): Promise<void> {
  response.writeHead(status, { ...headers, "content-type": "application/json", "cache-control": "no-cache, private" });
  response.flushHeaders();
  for await (const batch of events) {
    for (const chunk of chunks(batch)) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drained(response);
    }
  }
  response.end();
}

function* chunks(events: readonly WatchEvent[]): Generator<string> {
  let chunk = "";
  for (const event of events) {
    chunk += `${JSON.stringify(event)}\n`;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
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
