import { closeSync, existsSync, readdirSync, readSync } from "node:fs";
import { type FileHandle, open, readFile, rm, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import { runCommand } from "../system/run-command.ts";
import { settleAll } from "../system/settle-all.ts";
import { openPipe } from "../system/unix-message.ts";
import type { Checkpoints, RuntimeBuild } from "./oci-runtime.ts";
import { isGone } from "./runtime-call.ts";
import { type ControlCall, callSandbox, SandboxGone } from "./sandbox-control.ts";

/** A gigabyte takes about a second to write, and the disk may be busy. */
const saveTimeoutMs = 10 * 60_000;
/** A sandbox stands still when the last of its processes has left the kernel of the sandbox. */
const callTimeoutMs = 30_000;

export interface SandboxCalls extends Pick<Checkpoints, "pause" | "isPaused" | "resume" | "save" | "signalAll"> {
  /** Called when a sandbox was removed. */
  readonly forget: (id: string) => Promise<void>;
}

export function controlSocketOf(id: string): string {
  return `runsc-${id}.sock`;
}

/** The sandbox of a container: runsc names its state file after both. Undefined if the container does not exist. */
export function sandboxOf(root: string, id: string): string | undefined {
  const before = `${id}_sandbox:`;
  const name = readdirSync(root).find((one) => one.startsWith(before) && one.endsWith(".state"));
  return name?.slice(before.length, -".state".length);
}

const signals = { STOP: constants.signals.SIGSTOP, CONT: constants.signals.SIGCONT } as const;
/** DeliverToAllProcesses of gVisor's `SignalDeliveryMode`. */
const toAllProcesses = 1;

/**
 * Pauses, continues and saves sandboxes through their control sockets in the folder `root`. gVisor counts pauses, and ends a
 * sandbox that is continued without having been paused. So each pause is remembered. A file says that a sandbox may be paused: an
 * earlier process of the node may have been killed right before or after the pause. Only then the sandbox is asked whether it
 * stands still.
 *
 * A checkpoint of a paused sandbox leaves it paused, so nothing in it can change after it was saved. A
 * sandbox that was paused when it was saved runs when it is restored. gVisor compares the specifications of the containers
 * before it restores them: arguments, mounts without their sources, users, capabilities, seccomp, kinds of namespaces. It
 * takes hostname and environment from the new specification, and kills processes that `runsc exec` had started.
 */
export function sandboxCalls(root: string): SandboxCalls {
  const paused = new Set<string>();
  const call = (id: string, method: string, more: Partial<ControlCall> = {}): Promise<unknown> =>
    callSandbox({ socket: join(root, controlSocketOf(id)), method, timeoutMs: callTimeoutMs, ...more });
  const markOf = (id: string): string => join(root, `${id}.paused`);
  const isPaused = async (id: string): Promise<boolean> =>
    paused.has(id) || (existsSync(markOf(id)) && (await standsStill(id, call)));
  const forget = async (id: string): Promise<void> => {
    paused.delete(id);
    await rm(markOf(id), { force: true });
  };
  return {
    isPaused: (id) => isPaused(id).catch(ifGone(false)),
    pause: async (id) => {
      if (await isPaused(id)) return;
      await writeFile(markOf(id), "");
      await call(id, "containerManager.Pause");
      paused.add(id);
    },
    resume: async (id) => {
      if (await isPaused(id).catch(ifGone(false))) await call(id, "containerManager.Resume").catch(ifGone(undefined));
      await forget(id);
    },
    signalAll: async (id, signal) => {
      const sandbox = sandboxOf(root, id);
      if (sandbox === undefined) return;
      const argument = { CID: id, Signo: signals[signal], PID: 0, Mode: toAllProcesses };
      await call(sandbox, "containerManager.Signal", { argument }).catch((error: unknown) => {
        if (!(error instanceof SandboxGone) && !isGone.test(messageOf(error))) throw error;
      });
    },
    save: (id, folder) => save(folder, (more) => call(id, "containerManager.Checkpoint", more)),
    forget,
  };
}

function ifGone<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof SandboxGone) return value;
    throw error;
  };
}

/** The file of the sandbox's kernel, of its memory map and of its memory, in the order in which gVisor expects them. */
const imageFiles = ["checkpoint.img", "pages_meta.img", "pages.img"];

const saveOptions = {
  metadata: { compression: "none" },
  app_mf_exclude_committed_zero_pages: true,
  have_pages_file: true,
  // Without this the sandbox ends when it is saved, even if the disk is full.
  Resume: true,
};

async function save(folder: string, call: (more: Partial<ControlCall>) => Promise<unknown>): Promise<void> {
  const files: FileHandle[] = [];
  try {
    for (const name of imageFiles) files.push(await open(join(folder, name), "wx+", 0o600));
    const writing = call({ argument: saveOptions, descriptors: files.map(({ fd }) => fd), timeoutMs: saveTimeoutMs });
    await settleAll([writing, writeBack(files, writing)]);
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
}

const writeBackEveryMs = 5;

/**
 * Lets the disk begin with what the sandbox has written so far, while the sandbox writes the rest. The caller syncs the files when
 * they are complete, and then waits for little. Throws if the disk fails: the kernel reports that only once.
 */
async function writeBack(files: readonly FileHandle[], writing: Promise<unknown>): Promise<void> {
  let isWritten = false;
  const written = writing.catch(() => undefined).then(() => (isWritten = true));
  for (;;) {
    await Promise.race([sleep(writeBackEveryMs), written]);
    if (isWritten) return;
    await Promise.all(files.map((file) => file.datasync()));
  }
}

type Call = (id: string, method: string, more: Partial<ControlCall>) => Promise<unknown>;

const statusBytes = 4096;

/** How often a process is looked at, and the time in between. */
const looks = 20;
const betweenLooksMs = 10;

/**
 * Whether a sandbox stands still. A paused process of gVisor is neither running nor sleeping nor stopped by a signal: its state is "D",
 * which a running one has only for the moment in which it starts another program. A shell does that often, so it is looked at many times.
 */
async function standsStill(id: string, call: Call): Promise<boolean> {
  for (let look = 0; look < looks; look += 1) {
    if (look > 0) await sleep(betweenLooksMs);
    if (!(await isHeld(id, call))) return false;
  }
  return true;
}

async function isHeld(id: string, call: Call): Promise<boolean> {
  const pipe = openPipe();
  try {
    const argument = { container_id: id, path: "/proc/1/status", offset: 0, size: statusBytes };
    await call(id, "Fs.Read", { argument, descriptors: [pipe.writing] });
    const status = Buffer.alloc(statusBytes);
    const length = readSync(pipe.reading, status);
    return /^State:\s*D/m.test(status.toString("latin1", 0, length));
  } finally {
    closeSync(pipe.reading);
    closeSync(pipe.writing);
  }
}

/** Takes a quarter of a second, in another thread: the program has the size of a small image. */
export async function buildOf(program: string): Promise<RuntimeBuild> {
  const hash = async (): Promise<ArrayBuffer> => crypto.subtle.digest("SHA-256", await readFile(program));
  const [version, digest] = await Promise.all([runCommand(program, ["--version"]), hash()]);
  const sha256 = Buffer.from(digest).toString("hex");
  return { version: version.split("\n")[0]?.replace(/^runsc version /, "") ?? "", sha256 };
}
