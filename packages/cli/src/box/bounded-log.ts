import { copyFileSync, statSync, truncateSync } from "node:fs";

/** There are at most two files of this size: the log and the previous one. */
const mostBytes = 20 * 2 ** 20;
const everyMs = 60_000;

/**
 * Rotates the log of a background box: copies it to `<path>.1` and truncates it. The box writes in append mode, so it does
 * not have to reopen the file.
 */
export function keepBounded(
  path: string,
  { bytes = mostBytes, ms = everyMs }: { readonly bytes?: number; readonly ms?: number } = {},
): Disposable {
  const timer = setInterval(() => turnOver(path, bytes), ms).unref();
  turnOver(path, bytes);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Errors (a deleted log, a full disk) are printed and do not stop the box. */
function turnOver(path: string, bytes: number): void {
  try {
    if (statSync(path).size <= bytes) return;
    copyFileSync(path, `${path}.1`);
    truncateSync(path);
  } catch (error) {
    console.error(`Cannot rotate "${path}": ${error instanceof Error ? error.message : String(error)}`);
  }
}
