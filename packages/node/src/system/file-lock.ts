import { closeSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { libc } from "./libc.ts";

const betweenTriesMs = 50;

/**
 * A lock for one process at a time, by a file in a folder of root's: a name that everybody could take would let any user of the
 * machine keep the box from starting. The kernel takes the lock back whatever way its holder ends. Undefined when somebody
 * else still holds it after that long.
 */
export async function takeLock(file: string, patienceMs: number): Promise<AsyncDisposable | undefined> {
  const until = performance.now() + patienceMs;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  for (;;) {
    const descriptor = tryLock(file);
    if (descriptor !== undefined) return { [Symbol.asyncDispose]: async () => closeSync(descriptor) };
    if (performance.now() >= until) return undefined;
    await sleep(betweenTriesMs);
  }
}

function tryLock(file: string): number | undefined {
  const descriptor = openSync(file, "a", 0o600);
  if (libc().lockFile(descriptor) && isStillThere(file, descriptor)) return descriptor;
  closeSync(descriptor);
  return undefined;
}

/** Whoever held the lock before may have removed the file with its folder. */
function isStillThere(file: string, descriptor: number): boolean {
  return statSync(file, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino;
}
