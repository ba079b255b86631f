/** A process inside a sandbox, by the sandbox's own numbers. */
export interface SandboxProcess {
  readonly pid: number;
  readonly parent: number;
}

/** Each is killed by a call of the runtime: a command that has started more than this is ended in part. */
const mostDescendants = 200;

/** The table of `runsc ps`: user, process, parent, and what does not matter here. */
export function parseProcesses(table: string): SandboxProcess[] {
  return table.split("\n").flatMap((line) => {
    const [, pid, parent] = /^\d+\s+(\d+)\s+(\d+)\s/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent) }];
  });
}

/**
 * What a process has started, the nearest first. Nothing where the container is one of several in its sandbox, whose
 * processes the runtime lists by other numbers than it takes: the first process of a container alone is number 1.
 */
export function descendantsOf(pid: number, processes: readonly SandboxProcess[]): number[] {
  if (!processes.some((one) => one.pid === 1)) return [];
  const found = new Set([pid]);
  // A set is walked with what is added on the way.
  for (const ancestor of found) {
    for (const one of processes) if (one.parent === ancestor && found.size <= mostDescendants) found.add(one.pid);
  }
  found.delete(pid);
  return [...found];
}
