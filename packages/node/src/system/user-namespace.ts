import { once } from "node:events";
import { type FileHandle, open, writeFile } from "node:fs/promises";
import { NodeError } from "../errors.ts";
import { signalProcess } from "./processes.ts";
import { cannotRun } from "./run-command.ts";
import { type Program, startProgram } from "./start-program.ts";

/** Maps `count` ids, beginning with `inside` in the namespace and `outside` on the machine. */
export interface IdRange {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}

export interface UserNamespaceOptions {
  /** The mapping of both users and groups. */
  readonly ids: readonly IdRange[];
  /**
   * The machine's user that creates the namespace. The kernel counts the usage of the namespace's users, such as inotify
   * instances, for this user. Default: root.
   */
  readonly creator?: number;
  /** Also creates a network namespace that the user namespace owns. Default false. */
  readonly network?: boolean;
}

/** A mapping without any id in use: files appear to belong to nobody. */
export const noOwners: readonly IdRange[] = [{ inside: 0xffff_fffe, outside: 0xffff_fffe, count: 1 }];

/** Creates a user namespace. It exists while the handle is open, or a process or mount uses it. */
export async function openUserNamespace(options: UserNamespaceOptions): Promise<FileHandle> {
  return withUserNamespace(options, ({ user }) => open(user));
}

/** The /proc files of new namespaces, which exist while a process is in them. */
export interface NamespaceFiles {
  readonly user: string;
  readonly net: string;
}

/** Creates a user namespace that exists at least until `use` has finished. */
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

/** Creates a network namespace, owned by a user namespace, that exists at least until `use` has finished. */
export async function withNetworkNamespace<T>(
  userNamespace: string,
  use: (files: NamespaceFiles) => Promise<T>,
): Promise<T> {
  const words = ["nsenter", `--user=${userNamespace}`, "--", "unshare", "--net", "--", "cat"];
  return inNamespace(words, (_, files) => use(files));
}

/** The longest time that `use` may take. */
const mostMs = 30_000;

/** Runs a command that ends in `cat`. When it echoes its input, it is in its namespaces. */
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
    throw new NodeError("NodeSetup", `Cannot create a namespace: "${program}" ended with ${early.code}`);
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
