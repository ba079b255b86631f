import { readdirSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";

/** Node keeps compiled modules here, types removed. Programs that start from the sources need half the processor time. */
export const compileCache: string = resolve(import.meta.dirname, "../.cache/compiled");

/** Twenty times what one state of the sources needs. */
const mostBytes = 512 * 1024 * 1024;

/**
 * Empties the cache if it has become too large. Node never removes an entry, and vitest imports every test file under a new name in
 * each run: a run adds about 3 MiB.
 */
export function boundCompileCache(folder: string = compileCache, most: number = mostBytes): void {
  if (sizeOf(folder) > most) rmSync(folder, { recursive: true, force: true });
}

function sizeOf(folder: string): number {
  let bytes = 0;
  for (const entry of readEntries(folder)) {
    const path = `${entry.parentPath}/${entry.name}`;
    // Another run may remove the file meanwhile.
    if (entry.isFile()) bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

function readEntries(folder: string) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch {
    return [];
  }
}
