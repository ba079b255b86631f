import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * The start time of a process in clock ticks since boot, which identifies a process together with its pid. Undefined if the
 * process does not exist or is a zombie.
 */
export async function processStart(pid: number): Promise<number | undefined> {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the program's name in parentheses, may contain any character.
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
    // The process has already ended.
  }
}

const roundMs = 5;
const mostRounds = 400;

/** Waits up to two seconds for a process to end by itself. Returns whether it has ended. */
export async function endsSoon(pid: number, start: number | undefined): Promise<boolean> {
  for (let round = 0; round < mostRounds; round++) {
    if (start === undefined || (await processStart(pid)) !== start) return true;
    await sleep(roundMs);
  }
  return false;
}

/** Kills a process and waits until it has ended. */
export async function endProcess(pid: number): Promise<void> {
  const start = await processStart(pid);
  signalProcess(pid, "SIGKILL");
  await endsSoon(pid, start);
}
