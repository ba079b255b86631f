import { statSync, unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { createSecureContext } from "node:tls";
import type { ListenAddress } from "@agent-sandbox/api";
import { convertReview } from "@agent-sandbox/api/conversion";
import type { Logger } from "@agent-sandbox/kube";
import type { MemoryPair } from "./memory-pair.ts";
import { listen, type Serving } from "./plain-server.ts";

export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
  /** Used instead of the files, which could not be written. */
  readonly memory?: MemoryPair;
}

export interface WebhookOptions {
  readonly address: ListenAddress;
  readonly files: CertificateFiles;
  readonly log: Logger;
  /** How often the files are checked for changes. Default 10 s. */
  readonly checkEveryMs?: number;
}

/** An API server sends a page of a list in one review: 500 objects of at most 1.5 MB, few of which are that large. */
const mostBytes = 64 << 20;

/** Longer than Go clients keep idle connections (90 s): a request on a connection that the server just closed would fail. */
const keepAliveTimeout = 120_000;

/** Serves `/convert` over TLS. Reloads changed certificate files; if they are invalid, the previous certificate stays in use. */
export async function serveWebhook({ address, files, log, checkEveryMs = 10_000 }: WebhookOptions): Promise<Serving> {
  const options = { ...(await loadPair(files)), minVersion: "TLSv1.2", keepAliveTimeout } as const;
  const server = createServer(options, (request, response) => {
    void answer(request, response).catch((error: unknown) => {
      log.warn({ err: error }, "conversion request failed");
      response.destroy();
    });
  });
  const reload = async (): Promise<void> => {
    try {
      server.setSecureContext({ ...(await loadPair(files)), minVersion: "TLSv1.2" });
      log.info(placeOf(files), "webhook certificate loaded");
    } catch (error) {
      log.error({ err: error, ...placeOf(files) }, "webhook certificate not usable, keeping the previous one");
    }
  };
  const onChange = (): void => void reload();
  const stopWatching = files.memory?.watch(onChange) ?? watchPair(files, checkEveryMs, onChange);
  const serving = await listen(server, address);
  return {
    port: serving.port,
    [Symbol.asyncDispose]: () => {
      stopWatching();
      return serving[Symbol.asyncDispose]();
    },
  };
}

/** For the log, which must not contain the key. */
function placeOf({ certificate, key, memory }: CertificateFiles): object {
  return memory === undefined ? { files: { certificate, key } } : { files: "in memory" };
}

async function loadPair({ certificate, key, memory }: CertificateFiles): Promise<{ cert: Buffer; key: Buffer }> {
  const inMemory = memory?.get();
  const pair = inMemory
    ? { cert: Buffer.from(inMemory.certificate), key: Buffer.from(inMemory.key) }
    : { cert: await readFile(certificate), key: await readFile(key) };
  createSecureContext(pair);
  return pair;
}

/** Polls the files: a mounted Secret changes by a symbolic link in a parent directory, which inotify on the file misses. */
function watchPair({ certificate, key }: CertificateFiles, interval: number, onChange: () => void): () => void {
  const files = [...new Set([certificate, key])];
  const look = (now: { mtimeMs: number }, before: { mtimeMs: number }): void => {
    const areThere = files.every((file) => statSync(file, { throwIfNoEntry: false }) !== undefined);
    if (now.mtimeMs !== before.mtimeMs && areThere) onChange();
  };
  for (const file of files) watchFile(file, { interval, persistent: false }, look);
  return () => {
    for (const file of files) unwatchFile(file, look);
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? "").split("?")[0];
  if (path !== "/convert") return void response.writeHead(404).end();
  if (request.method !== "POST") return void response.writeHead(405).end();
  const text = await bodyOf(request);
  if (text === undefined) return void response.writeHead(413, { connection: "close" }).end();
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch {
    return void response.writeHead(400).end("Cannot convert: the body is not valid JSON\n");
  }
  response.setHeader("content-type", "application/json").end(JSON.stringify(convertReview(review)));
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
