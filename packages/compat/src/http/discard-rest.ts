import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** What a client may still send after its request was refused. */
const maxBytes = 64 * 1024 * 1024;
const maxMs = 5000;

/**
 * Reads what is left of a body, so that the client gets the answer instead of a broken connection. Returns false if the rest is too long or
 * does not arrive in time; the connection cannot be used for another request then.
 */
export async function discardRest(request: IncomingMessage): Promise<boolean> {
  if (request.complete || request.destroyed) return request.complete;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > maxBytes) resolve(false);
  };
  const finish = (): void => resolve(request.complete);
  request.on("data", count).once("end", finish).once("close", finish);
  request.resume();
  const waited = new AbortController();
  const late = sleep(maxMs, false, { signal: waited.signal }).catch(() => false);
  try {
    return await Promise.race([promise, late]);
  } finally {
    waited.abort();
    request.off("data", count).off("end", finish).off("close", finish);
  }
}
