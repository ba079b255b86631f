import { once } from "node:events";
import { type FileHandle, open, writeFile } from "node:fs/promises";
import { NodeError } from "../errors.ts";
import { signalProcess } from "./processes.ts";
import { startProgram } from "./start-program.ts";

/** Ids from `inside` on are those from `outside` on, `count` of them. */
export interface IdRange {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}

export interface UserNamespaceOptions {
  /** For users and for groups alike. */
  readonly ids: readonly IdRange[];
  /**
   * The id of the machine that makes the namespace, and that the kernel charges with what its users use (inotify
   * instances and the like). Default: root.
   */
  readonly creator?: number;
}

/** One that maps no id that is in use: files seen through it belong to nobody. */
export const noOwners: readonly IdRange[] = [{ inside: 0xffff_fffe, outside: 0xffff_fffe, count: 1 }];

/** Makes a user namespace. It exists as long as its descriptor is open, or something is in it or mounted with it. */
export async function openUserNamespace({ ids, creator }: UserNamespaceOptions): Promise<FileHandle> {
  const as =
    creator === undefined ? [] : ["setpriv", `--reuid=${creator}`, `--regid=${creator}`, "--clear-groups", "--"];
  const [program, ...args] = [...as, "unshare", "--user", "--", "cat"];
  const { pid, stdio, ended } = startProgram(program, args, { stdio: ["pipe", "pipe", "ignore"] });
  const [input, output] = stdio;
  try {
    // What it writes back tells that it is in its new namespace.
    input?.write("\n");
    const early = await Promise.race([ended, output && once(output, "data").then(() => undefined)]);
    if (early !== undefined) {
      throw new NodeError("NodeSetup", `Cannot make a user namespace: "${program}" ended with ${early.code}`);
    }
    const mapping = ids.map(({ inside, outside, count }) => `${inside} ${outside} ${count}\n`).join("");
    for (const kind of ["uid", "gid"]) await writeFile(`/proc/${pid}/${kind}_map`, mapping);
    return await open(`/proc/${pid}/ns/user`);
  } finally {
    signalProcess(pid, "SIGKILL");
    await ended;
    output?.destroy();
  }
}
