import { closeSync } from "node:fs";
import { constants } from "node:os";
import { getSystemErrorMessage, getSystemErrorName } from "node:util";
import koffi from "koffi";
import { lazyLibc } from "./native-call.ts";

/**
 * A descriptor of the new process: one end of a socket pair whose other end is ours (`pipe`), /dev/null (`ignore`), or the other end of
 * the pair before it (`peer`). With its own peer, writing never fails: the process is not ended by SIGPIPE when this one is killed.
 */
export type Stdio = "pipe" | "ignore" | "peer";

export interface SpawnOptions {
  /** The descriptors from 0 on. */
  readonly stdio: readonly Stdio[];
  /** Default: only our `PATH`. The locale stays C, because the node parses the output of programs. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Starts a new session, so that signals of the terminal do not reach the process. Default false. */
  readonly session?: boolean;
}

export interface Spawned {
  readonly pid: number;
  /** Our ends of the socket pairs. */
  readonly descriptors: readonly (number | undefined)[];
}

/** How a process ended: with an exit code, or by a signal. */
export interface Ended {
  readonly code: number | undefined;
  readonly signal?: NodeJS.Signals;
}

/** glibc's structures have 80 and 336 bytes, and a set of signals 128. */
const roomForStructure = 512;
const [setSignalDefaults, setSignalMask, setSession] = [0x04, 0x08, 0x80];
const [unixDomain, streamType, closeOnExec] = [1, 1, 0o2_000_000];
const noHang = 1;

/**
 * Starts a program with posix_spawn. Node's own `spawn` forks, and blocks for milliseconds while the kernel copies the page
 * tables of this process.
 */
export function posixSpawn(program: string, args: readonly string[], options: SpawnOptions): Spawned {
  const calls = libraryCalls();
  const pairs = options.stdio.map((kind) => (kind === "pipe" ? socketPair() : undefined));
  const actions = Buffer.alloc(roomForStructure);
  calls.initActions(actions);
  try {
    for (const [descriptor, pair] of pairs.entries()) {
      const peer = options.stdio[descriptor] === "peer" ? pairs[descriptor - 1]?.ours : undefined;
      if (peer !== undefined) calls.addDuplicate(actions, peer, descriptor);
      else if (pair === undefined) calls.addOpen(actions, descriptor, "/dev/null", 2, 0);
      else calls.addDuplicate(actions, pair.theirs, descriptor);
    }
    if (options.cwd !== undefined) calls.addChangeFolder(actions, options.cwd);
    const pid = new Int32Array(1);
    const attributes = attributesFor(options.session ?? false);
    const words = [program, ...args, null];
    const code = calls.spawn(
      pid,
      program,
      actions,
      attributes,
      words,
      environment(options.env ?? { PATH: process.env["PATH"] }),
    );
    if (code !== 0) throw systemError(`start "${program}"`, code);
    return { pid: pid[0] ?? -1, descriptors: pairs.map((pair) => pair?.ours) };
  } catch (error) {
    for (const pair of pairs) if (pair !== undefined) closeSync(pair.ours);
    throw error;
  } finally {
    calls.destroyActions(actions);
    for (const pair of pairs) if (pair !== undefined) closeSync(pair.theirs);
  }
}

/** Reaps a child process. Returns undefined while it still runs. Do not call again after it has returned a result. */
export function reap(pid: number): Ended | undefined {
  const status = new Int32Array(1);
  const found = libraryCalls().waitFor(pid, status, noHang);
  if (found === 0) return undefined;
  // Another part of the process has reaped it, so the exit code is lost.
  if (found !== pid) return { code: undefined };
  const [value = 0] = status;
  const number = value & 0x7f;
  return number === 0 ? { code: (value >> 8) & 0xff } : { code: undefined, signal: signalName(number) };
}

function signalName(number: number): NodeJS.Signals {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return (found?.[0] ?? "SIGKILL") as NodeJS.Signals;
}

/** The ends of a pipe, which programs do not inherit. The caller closes both. */
export function pipe(): { reading: number; writing: number } {
  const ends = new Int32Array(2);
  if (libraryCalls().pipe(ends, closeOnExec) !== 0) throw systemError("create a pipe", koffi.errno());
  return { reading: ends[0] ?? -1, writing: ends[1] ?? -1 };
}

/** A pair of connected sockets, which programs do not inherit. */
function socketPair(): { ours: number; theirs: number } {
  const ends = new Int32Array(2);
  if (libraryCalls().socketPair(unixDomain, streamType | closeOnExec, 0, ends) !== 0)
    throw systemError("create a pair of sockets", koffi.errno());
  return { ours: ends[0] ?? -1, theirs: ends[1] ?? -1 };
}

function environment(from: Readonly<Record<string, string | undefined>>): (string | null)[] {
  const entries = Object.entries(from).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return [...entries, null];
}

/** Resets the signals that Node ignores or blocks. */
function attributesFor(session: boolean): Buffer {
  const calls = libraryCalls();
  const attributes = Buffer.alloc(roomForStructure);
  const all = Buffer.alloc(roomForStructure);
  calls.fillSignals(all);
  calls.initAttributes(attributes);
  calls.setDefaults(attributes, all);
  calls.setMask(attributes, Buffer.alloc(roomForStructure));
  calls.setFlags(attributes, setSignalDefaults | setSignalMask | (session ? setSession : 0));
  return attributes;
}

function systemError(what: string, errno: number): Error {
  const error = new Error(`Cannot ${what}: ${getSystemErrorMessage(-errno)}`);
  return Object.assign(error, { code: getSystemErrorName(-errno) });
}

type Call = (...args: readonly unknown[]) => number;

const libraryCalls = lazyLibc((library) => {
  const call = (declaration: string): Call => library.func(declaration) as Call;
  return {
    spawn: call(
      "int posix_spawnp(int *pid, const char *file, void *actions, void *attributes, const char **argv, const char **envp)",
    ),
    waitFor: call("int waitpid(int pid, int *status, int options)"),
    pipe: call("int pipe2(int *ends, int flags)"),
    socketPair: call("int socketpair(int domain, int type, int protocol, int *ends)"),
    initActions: call("int posix_spawn_file_actions_init(void *actions)"),
    destroyActions: call("int posix_spawn_file_actions_destroy(void *actions)"),
    addDuplicate: call("int posix_spawn_file_actions_adddup2(void *actions, int from, int to)"),
    addOpen: call(
      "int posix_spawn_file_actions_addopen(void *actions, int descriptor, const char *path, int flags, unsigned int mode)",
    ),
    addChangeFolder: call("int posix_spawn_file_actions_addchdir_np(void *actions, const char *path)"),
    initAttributes: call("int posix_spawnattr_init(void *attributes)"),
    setFlags: call("int posix_spawnattr_setflags(void *attributes, short flags)"),
    setDefaults: call("int posix_spawnattr_setsigdefault(void *attributes, void *signals)"),
    setMask: call("int posix_spawnattr_setsigmask(void *attributes, void *signals)"),
    fillSignals: call("int sigfillset(void *signals)"),
  };
});
