/**
 * The API server of the benchmark, in a separate process: 10,000 Pods to list, whole or in pages, and 50,000 events to watch. All
 * responses are serialised in advance, so that only the clients are measured.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { eventCount, podCount } from "./load.ts";
import { pod } from "./pods.ts";

/** Of constant length, so that the version in an event can be overwritten in place. */
const firstVersion = 10_000_000;
const linesPerWrite = 32;

const pods = Array.from({ length: podCount }, (_, index) => JSON.stringify(pod(index, String(firstVersion + index))));
const lines = pods.map((text, index) => {
  const line = Buffer.from(`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1",${text.slice(1)}}\n`);
  return { line, at: line.indexOf(`"resourceVersion":"${firstVersion + index}"`) + '"resourceVersion":"'.length };
});
const listVersion = String(firstVersion + podCount);
const pages = new Map<string, Buffer>();

function page(offset: number, limit: number): Buffer {
  const key = `${offset}:${limit}`;
  const known = pages.get(key);
  if (known) return known;
  const end = offset + limit;
  const token = end < podCount ? `,"continue":"${end}"` : "";
  const head = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${listVersion}"${token}},"items":[`;
  const made = Buffer.from(`${head}${pods.slice(offset, end).join(",")}]}`);
  pages.set(key, made);
  return made;
}

async function watch(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "application/json" });
  for (let sent = 0; sent < eventCount; sent += linesPerWrite) {
    const batch: Buffer[] = [];
    for (let event = sent; event < Math.min(sent + linesPerWrite, eventCount); event += 1) {
      const { line, at } = lines[event % podCount] ?? { line: Buffer.alloc(0), at: 0 };
      const copy = Buffer.from(line);
      copy.write(String(firstVersion + podCount + 1 + event), at, "latin1");
      batch.push(copy);
    }
    if (!response.write(Buffer.concat(batch))) await once(response, "drain");
  }
}

// Prepare both kinds of list, so that the first run does not pay for it.
page(0, podCount);
for (let offset = 0; offset < podCount; offset += 500) page(offset, 500);

const server = createServer((request, response) => {
  const query = new URL(request.url ?? "", "http://localhost").searchParams;
  if (query.has("watch")) {
    void watch(response).catch(() => response.destroy());
    return;
  }
  const empty = query.get("labelSelector") === "none";
  const body = empty
    ? Buffer.from(`{"metadata":{"resourceVersion":"${listVersion}"},"items":[]}`)
    : page(Number(query.get("continue")), Number(query.get("limit") ?? podCount));
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
});
server.listen(0, "127.0.0.1", () => {
  const bytes = page(0, podCount).length;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bytes }));
});
