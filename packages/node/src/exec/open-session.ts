import { type Machine, runtimeNamed } from "../pod/machine.ts";
import { killCgroup } from "../system/cgroups.ts";

/** The content of a session's file: what is needed to end the session after a crash. */
export interface OpenSession {
  readonly runtime: string;
  /** The container's id in the runtime. */
  readonly container: string;
  readonly cgroup: string;
}

export const sessionFile = "session.json";

/**
 * Ends a command and all processes it has started. Inside a sandbox with its own kernel, the runtime ends the processes
 * that it can find.
 */
export async function endSession(machine: Machine, own: OpenSession, folder: string): Promise<void> {
  await runtimeNamed(machine, own.runtime).endExec(own.container, folder);
  await killCgroup(machine.cgroups, own.cgroup);
}
