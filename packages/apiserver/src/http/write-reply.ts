import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { ApiError } from "../api-error.ts";
import type { ObjectReply, Reply, ServedEvent, TextReply, WatchReply } from "../request/api-request.ts";
import { acceptedFormat } from "./accepted-format.ts";

/** `stalledMs`: a client that reads nothing for this long is disconnected. A watch can resume from the history. */
export async function writeReply(response: ServerResponse, reply: Reply, stalledMs: number): Promise<void> {
  if (response.destroyed) {
    // Its source may be a process, a file, or a backup that excludes others.
    if (reply.kind === "stream") reply.body.destroy();
    return;
  }
  if (reply.kind === "watch") return writeWatch(response, reply, stalledMs);
  if (reply.kind === "stream") {
    response.writeHead(reply.status, { ...reply.headers, "cache-control": "no-cache, private" });
    response.flushHeaders();
    // Destroyed without an end, so that the client knows that the response is incomplete.
    return pipeline(reply.body, response).catch(() => void response.destroy());
  }
  const { type, text, status = reply.status } = await written(reply, acceptedFormat(response.req.headers.accept));
  const length = Buffer.byteLength(text);
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-cache, private",
    ...reply.headers,
    "content-length": length,
  });
  // With one byte for each character, latin1 copies the text without encoding it, which is faster.
  const encoding = length === text.length ? "latin1" : "utf8";
  if (length > chunkLength) return writeSlices(response, { text, encoding }, stalledMs);
  if (typeof text === "string") response.end(text, encoding);
  else response.end(text);
}

/** The size of a slice, which is encrypted in one turn of the event loop. */
const sliceLength = 1024 * 1024;

interface Sent {
  readonly text: string | Uint8Array;
  readonly encoding: BufferEncoding;
}

/** Writes in slices, as fast as the client reads, so that other requests are served in between. */
async function writeSlices(response: ServerResponse, { text, encoding }: Sent, stalledMs: number): Promise<void> {
  // UTF-8 text cannot be split at arbitrary positions, so encode it first.
  const sent = typeof text === "string" && encoding === "utf8" ? Buffer.from(text) : text;
  for (let at = 0; at < sent.length && !response.destroyed; at += sliceLength) {
    const hasRoom =
      typeof sent === "string"
        ? response.write(sent.slice(at, at + sliceLength), encoding)
        : response.write(sent.subarray(at, at + sliceLength));
    if (!hasRoom) await drained(response, stalledMs);
  }
  response.end();
}

async function written(reply: ObjectReply | TextReply, format: "json" | "yaml"): Promise<Written> {
  if (reply.kind === "text") return { type: "text/plain; charset=utf-8", text: reply.text };
  const json = (): string => reply.json ?? JSON.stringify(reply.body);
  if (format === "json") return { type: "application/json", text: json() };
  const { toYaml, maxWrittenYamlLength } = await import("./yaml.ts");
  if (json().length <= maxWrittenYamlLength) return { type: "application/yaml", text: toYaml(reply.body) };
  const why = `the answer is larger than ${maxWrittenYamlLength} bytes, which is not written as YAML: accept application/json`;
  const error = new ApiError("NotAcceptable", why);
  return { type: "application/json", text: JSON.stringify(error.toStatus()), status: error.code };
}

interface Written {
  readonly type: string;
  readonly text: string | Uint8Array;
  /** Replaces the status of the reply. */
  readonly status?: number;
}

/** Small events are combined up to this size. At most this and one large event wait for a client. */
const chunkLength = 64 * 1024;

/** Writes one line of JSON for each event, as fast as the client reads. */
async function writeWatch(
  response: ServerResponse,
  { headers, status, events }: WatchReply,
  stalledMs: number,
): Promise<void> {
  response.writeHead(status, { ...headers, "content-type": "application/json", "cache-control": "no-cache, private" });
  response.flushHeaders();
  for await (const batch of events) {
    for (const chunk of chunks(batch)) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drained(response, stalledMs);
    }
  }
  response.end();
}

function* chunks(events: readonly ServedEvent[]): Generator<string> {
  let chunk = "";
  for (const event of events) {
    chunk += `{"type":"${event.type}","object":${event.json ?? JSON.stringify(event.object)}}\n`;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

async function drained(response: ServerResponse, stalledMs: number): Promise<void> {
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
