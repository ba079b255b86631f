import { once } from "node:events";
import { type FileHandle, open, writeFile } from "node:fs/promises";
import { NodeError } from "../errors.ts";
import { signalProcess } from "./processes.ts";
import { cannotRun } from "./run-command.ts";
import { type Program, startProgram } from "./start-program.ts";

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
  /** Makes a network namespace as well, which belongs to the user namespace. Default false. */
  readonly network?: boolean;
}

/** One that maps no id that is in use: files seen through it belong to nobody. */
export const noOwners: readonly IdRange[] = [{ inside: 0xffff_fffe, outside: 0xffff_fffe, count: 1 }];

/** Makes a user namespace. It exists as long as its descriptor is open, or something is in it or mounted with it. */
export async function openUserNamespace(options: UserNamespaceOptions): Promise<FileHandle> {
  return withUserNamespace(options, ({ user }) => open(user));
}

/** The files that stand for new namespaces while a process is in them. */
export interface NamespaceFiles {
  readonly user: string;
  readonly net: string;
}

/** Makes a user namespace that exists at least until `use` is done. */
export async function withUserNamespace<T>(
  { ids, creator, network = false }: UserNamespaceOptions,
  use: (files: NamespaceFiles) => Promise<T>,
): Promise<T> {
  const as =
    creator === undefined ? [] : ["setpriv", `--reuid=${creator}`, `--regid=${creator}`, "--clear-groups", "--"];
  const words = [...as, "unshare", "--user", ...(network ? ["--net"] : []), "--", "cat"];
  return inNamespace(words, async (pid, files) => {
    const mapping = ids.map(({ inside, outside, count }) => `${inside} ${outside} ${count}\n`).join("");
    for (const kind of ["uid", "gid"]) await writeFile(`/proc/${pid}/${kind}_map`, mapping);
    return use(files);
  });
}

/** Makes a network namespace that belongs to a user namespace, and exists at least until `use` is done. */
export async function withNetworkNamespace<T>(
  userNamespace: string,
  use: (files: NamespaceFiles) => Promise<T>,
): Promise<T> {
  const words = ["nsenter", `--user=${userNamespace}`, "--", "unshare", "--net", "--", "cat"];
  return inNamespace(words, (_, files) => use(files));
}

/** How long a process is kept in its namespaces. */
const mostMs = 30_000;

/** Runs a command that ends in `cat`: once it writes back what it was sent, it is in its namespaces. */
async function inNamespace<T>(
  [program = "", ...args]: readonly string[],
  use: (pid: number, files: NamespaceFiles) => Promise<T>,
): Promise<T> {
  const { pid, stdio, ended } = start(program, args);
  const [input, output] = stdio;
  const timer = setTimeout(() => signalProcess(pid, "SIGKILL"), mostMs);
  try {
    input?.write("\n");
    const early = await Promise.race([ended, output && once(output, "data").then(() => undefined)]);
    if (early === undefined) return await use(pid, { user: `/proc/${pid}/ns/user`, net: `/proc/${pid}/ns/net` });
    throw new NodeError("NodeSetup", `Cannot make a namespace: "${program}" ended with ${early.code}`);
  } finally {
    signalProcess(pid, "SIGKILL");
    await ended;
    clearTimeout(timer);
    output?.destroy();
  }
}

function start(program: string, args: readonly string[]): Program {
  try {
    return startProgram(program, args, { stdio: ["pipe", "pipe", "ignore"] });
  } catch (error) {
    throw cannotRun(program, error);
  }
}
