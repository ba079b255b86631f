import { copyFileSync, statSync, truncateSync } from "node:fs";

/** Two files of it at most. */
const mostBytes = 20 * 2 ** 20;
const everyMs = 60_000;

/**
 * Keeps the log of a box in the background from growing without end: what is there becomes the file beside it, and the
 * log begins anew. Its writers append, so that they need not be told.
 */
export function keepBounded(
  path: string,
  { bytes = mostBytes, ms = everyMs }: { readonly bytes?: number; readonly ms?: number } = {},
): Disposable {
  const timer = setInterval(() => turnOver(path, bytes), ms).unref();
  turnOver(path, bytes);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** A log that is gone, or a disk that is full, is no reason for the box to end. */
function turnOver(path: string, bytes: number): void {
  try {
    if (statSync(path).size <= bytes) return;
    copyFileSync(path, `${path}.1`);
    truncateSync(path);
  } catch (error) {
    console.error(`Cannot begin "${path}" anew: ${error instanceof Error ? error.message : String(error)}`);
  }
}
