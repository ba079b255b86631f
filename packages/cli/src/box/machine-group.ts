import { spawnSync } from "node:child_process";
import { CommandError } from "../command-error.ts";

/** A group of this machine. */
export interface MachineGroup {
  readonly name: string;
  readonly gid: number;
}

/** Looks a group up as the machine does, so that groups of a directory service are found too. */
export function findMachineGroup(name: string): MachineGroup {
  const { stdout, error } = spawnSync("getent", ["group", name], { encoding: "utf8" });
  if (error !== undefined) throw new CommandError(`Cannot look for the group "${name}": ${error.message}`);
  const [, , gid] = stdout.trim().split(":");
  if (gid === undefined) {
    throw new CommandError(
      `Cannot give the group "${name}" access: it does not exist; create it with "groupadd ${name}"`,
    );
  }
  // Its members would include processes of the box itself.
  if (Number(gid) === 0) throw new CommandError(`Cannot give the group "${name}" access: it is the group of root`);
  return { name, gid: Number(gid) };
}
