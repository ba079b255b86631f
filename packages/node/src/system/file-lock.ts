import { closeSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { libc } from "./libc.ts";

const betweenTriesMs = 50;

/**
 * Takes an exclusive lock on a file. The file must be in a folder that only root can write, so that other users of the machine
 * cannot keep the box from starting. The kernel releases the lock when its process ends. Returns undefined if another
 * process still holds the lock after `patienceMs`.
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

/** The last holder of the lock may have removed the file with its folder. */
function isStillThere(file: string, descriptor: number): boolean {
  return statSync(file, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino;
}
