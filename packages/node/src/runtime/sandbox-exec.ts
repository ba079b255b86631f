import { closeSync, openSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { capabilityBits } from "../oci/capabilities.ts";
import type { OciProcess } from "../oci/spec.ts";
import { pipe } from "../system/posix-spawn.ts";
import type { SandboxProcess } from "./oci-runtime.ts";
import { controlSocketOf, sandboxOf } from "./runsc-checkpoints.ts";
import { callSandbox } from "./sandbox-control.ts";

export interface SandboxExec {
  /** The folder with the states and control sockets of runsc. */
  readonly root: string;
  /** The container. */
  readonly id: string;
  readonly process: OciProcess;
  readonly stdin: boolean;
  /** Where the pid inside the sandbox is written, for the end of the program after a crash of this process. */
  readonly pidFile: string;
}

/** What fits into the buffer of a Unix socket. */
const mostBytes = 100_000;
const startTimeoutMs = 30_000;

/**
 * Runs a program in a container with a call on the sandbox's control socket, as `runsc exec` does without a terminal. A start of runsc takes
 * longer than most programs run. Undefined if the arguments are too long for one message.
 */
export function execInSandbox(exec: SandboxExec): Promise<SandboxProcess> | undefined {
  const argument = argumentsOf(exec);
  return JSON.stringify(argument).length > mostBytes ? undefined : start(exec, argument);
}

async function start({ root, id, stdin, pidFile }: SandboxExec, argument: object): Promise<SandboxProcess> {
  const sandbox = sandboxOf(root, id);
  if (sandbox === undefined) throw new Error(`Cannot run the program: container "${id}" does not exist`);
  const socket = join(root, controlSocketOf(sandbox));
  const ours = new Set<number>();
  const theirs = new Set<number>();
  const close = (descriptors: Iterable<number>): void => {
    for (const descriptor of descriptors) closeSync(descriptor);
  };
  // Pipes, as programs can open them again under /dev/stdout. Sockets cannot be opened.
  const pipeTo = (direction: "reading" | "writing"): number => {
    const ends = pipe();
    theirs.add(direction === "reading" ? ends.reading : ends.writing);
    const own = direction === "reading" ? ends.writing : ends.reading;
    ours.add(own);
    return own;
  };
  try {
    const input = stdin ? pipeTo("reading") : undefined;
    if (!stdin) theirs.add(openSync("/dev/null", "r"));
    const own = { stdin: input, stdout: pipeTo("writing"), stderr: pipeTo("writing") };
    const call = { socket, method: "containerManager.ExecuteAsync", argument, descriptors: [...theirs] };
    const pid = await callSandbox({ ...call, timeoutMs: startTimeoutMs });
    if (!Number.isSafeInteger(pid) || Number(pid) <= 0)
      throw new Error("Cannot run the program: the sandbox gave no pid");
    writeFileSync(pidFile, String(pid), { mode: 0o600 });
    const wait = { socket, method: "containerManager.WaitPID", argument: { PID: pid, CID: id }, timeoutMs: Infinity };
    return { ...streamsOf(own), wait: async (signal) => codeOf(await callSandbox({ ...wait, signal })) };
  } catch (error) {
    close(ours);
    throw error;
  } finally {
    close(theirs);
  }
}

/** Made when the program runs: a stream reads at once, and its end must not come before somebody listens. */
function streamsOf(ours: {
  readonly stdin: number | undefined;
  readonly stdout: number;
  readonly stderr: number;
}): Omit<SandboxProcess, "wait"> {
  const stdin = ours.stdin === undefined ? undefined : new Socket({ fd: ours.stdin, readable: false, writable: true });
  // A program may end without reading its input: its exit code decides.
  stdin?.on("error", () => undefined);
  const reading = { readable: true, writable: false };
  return {
    stdin,
    stdout: new Socket({ fd: ours.stdout, ...reading }),
    stderr: new Socket({ fd: ours.stderr, ...reading }),
  };
}

/** As `runsc exec` makes them of a process description (`control.ExecArgs`). It never gives CAP_NET_RAW, which needs an option of runsc. */
function argumentsOf({ id, process }: SandboxExec): object {
  const { args, env, cwd, user, capabilities, noNewPrivileges } = process;
  const bits = (names: readonly string[] = []): number =>
    capabilityBits(names.filter((name) => name !== "CAP_NET_RAW"));
  return {
    argv: args,
    envv: env,
    wd: cwd,
    KUID: user.uid,
    KGID: user.gid,
    ExtraKGIDs: user.additionalGids ?? [],
    NoNewPrivileges: noNewPrivileges,
    Capabilities: {
      BoundingCaps: bits(capabilities?.bounding),
      EffectiveCaps: bits(capabilities?.effective),
      PermittedCaps: bits(capabilities?.permitted),
      InheritableCaps: 0,
      AmbientCaps: 0,
    },
    StdioIsPty: false,
    SupportTTYs: true,
    GuestFDs: [0, 1, 2],
    ContainerID: id,
  };
}

/** The status of `wait`, as a shell shows it. */
function codeOf(status: unknown): number {
  const value = Number(status);
  const signal = value & 0x7f;
  return signal === 0 ? (value >> 8) & 0xff : 128 + signal;
}
