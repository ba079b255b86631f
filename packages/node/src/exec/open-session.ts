import { type Machine, runtimeNamed } from "../pod/machine.ts";
import { killCgroup } from "../system/cgroups.ts";

/** What a session's folder says of it: enough to end it when the process that began it is gone. */
export interface OpenSession {
  readonly runtime: string;
  /** The container's id with the runtime. */
  readonly container: string;
  readonly cgroup: string;
}

export const sessionFile = "session.json";

/**
 * Ends a command and everything it has started: what runs on this machine for certain, what runs in a sandbox as far as
 * the runtime tells.
 */
export async function endSession(machine: Machine, own: OpenSession, folder: string): Promise<void> {
  await runtimeNamed(machine, own.runtime).endExec(own.container, folder);
  await killCgroup(machine.cgroups, own.cgroup);
}
