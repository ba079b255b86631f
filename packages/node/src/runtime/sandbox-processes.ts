/** A process inside a sandbox, with the sandbox's own pids. */
export interface SandboxProcess {
  readonly pid: number;
  readonly parent: number;
}

/** Each process is killed by a call of runsc. Of a command with more processes only this many are killed. */
const mostDescendants = 200;

/** Parses the table of `runsc ps`: user, pid, parent pid, and other columns. */
export function parseProcesses(table: string): SandboxProcess[] {
  return table.split("\n").flatMap((line) => {
    const [, pid, parent] = /^\d+\s+(\d+)\s+(\d+)\s/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent) }];
  });
}

/**
 * The descendants of a process, the nearest first. Empty unless the table has a process 1, that is, if the sandbox has several
 * containers: there runsc lists other pids than it accepts.
 */
export function descendantsOf(pid: number, processes: readonly SandboxProcess[]): number[] {
  if (!processes.some((one) => one.pid === 1)) return [];
  const found = new Set([pid]);
  // The loop also visits elements that are added during the iteration.
  for (const ancestor of found) {
    for (const one of processes) if (one.parent === ancestor && found.size <= mostDescendants) found.add(one.pid);
  }
  found.delete(pid);
  return [...found];
}
