import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * When a process began, in the kernel's ticks since boot: with the pid, what names a process for good. Undefined when
 * there is none, or only its zombie.
 */
export async function processStart(pid: number): Promise<number | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in brackets and may hold anything, brackets and spaces included.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : Number(fields[19]);
  } catch {
    return undefined;
  }
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Already gone: what a signal to it would have brought about.
  }
}

const roundMs = 5;
const mostRounds = 400;

/** Whether a process ends by itself within two seconds. */
export async function endsSoon(pid: number, start: number | undefined): Promise<boolean> {
  for (let round = 0; round < mostRounds; round++) {
    if (start === undefined || (await processStart(pid)) !== start) return true;
    await sleep(roundMs);
  }
  return false;
}

/** Kills a process and waits until it is gone. */
export async function endProcess(pid: number): Promise<void> {
  const start = await processStart(pid);
  signalProcess(pid, "SIGKILL");
  await endsSoon(pid, start);
}
