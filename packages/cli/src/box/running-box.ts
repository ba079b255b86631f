import { chmodSync, chownSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { NodeSettings } from "@agent-sandbox/node";
import { CommandError } from "../command-error.ts";
import type { BoxPaths } from "./box-paths.ts";

/** The record that a running box writes. The start time distinguishes its process from a later one with the same PID. */
export interface RunningBox {
  readonly pid: number;
  readonly processStart: string;
  readonly url: string;
  readonly routerUrl: string;
  /** Where programs ask the dashboard for login links. Absent in the record of an older version. */
  readonly dashboardUrl?: string;
  /** Where clients of other platforms connect. Absent in the record of an older version. */
  readonly compatUrl?: string;
  readonly startedAt: string;
  /** The arguments of a background box; absent if the box runs in the foreground. */
  readonly words?: readonly string[];
  /** The node settings of its command line. */
  readonly node?: NodeSettings;
  /** The build of the program; see `programBuild`. */
  readonly build?: string;
}

export interface StartedBoxFacts
  extends Pick<RunningBox, "url" | "routerUrl" | "dashboardUrl" | "compatUrl" | "words" | "node"> {
  /** The group that may read the record. */
  readonly gid?: number | undefined;
}

export function recordRunningBox(paths: BoxPaths, box: StartedBoxFacts): void {
  const { url, routerUrl, dashboardUrl, compatUrl, words, node, gid } = box;
  const record: RunningBox = {
    pid: process.pid,
    processStart: processStartOf(process.pid) ?? "",
    url,
    routerUrl,
    ...(dashboardUrl !== undefined && { dashboardUrl }),
    ...(compatUrl !== undefined && { compatUrl }),
    startedAt: new Date().toISOString(),
    ...(words !== undefined && { words }),
    ...(node !== undefined && { node }),
    build: programBuild(),
  };
  const temporary = `${paths.record}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 });
  if (gid !== undefined) {
    chownSync(temporary, 0, gid);
    chmodSync(temporary, 0o640);
  }
  renameSync(temporary, paths.record);
}

export function forgetRunningBox(paths: BoxPaths): void {
  rmSync(paths.record, { force: true });
}

/**
 * Returns the box that uses this folder, or undefined. Ignores the record of a killed box. Throws if the caller is not
 * allowed to read the record, because a box may be running.
 */
export function findRunningBox(paths: BoxPaths): RunningBox | undefined {
  let record: RunningBox;
  try {
    record = JSON.parse(readFileSync(paths.record, "utf8")) as RunningBox;
  } catch (error) {
    const problem = whyHidden(error, paths);
    if (problem !== undefined) throw problem;
    return undefined;
  }
  if (!Number.isSafeInteger(record.pid) || record.pid < 1) return undefined;
  return processStartOf(record.pid) === record.processStart ? record : undefined;
}

export function whyHidden(error: unknown, { dataDir }: BoxPaths): CommandError | undefined {
  if ((error as NodeJS.ErrnoException).code !== "EACCES") return undefined;
  const advice = "run it with sudo, name a --kubeconfig, or become a member of the box's group";
  return new CommandError(`Cannot look for a box in "${dataDir}": permission denied; ${advice}`);
}

/** Identifies the build of this program: a hash of the entry script, which names its chunks by their content hash. */
export function programBuild(script: string = process.argv[1] ?? ""): string {
  // Only `up` needs it: an import would slow down the other commands.
  const { createHash } = process.getBuiltinModule("node:crypto");
  try {
    return createHash("sha256").update(readFileSync(script)).digest("hex").slice(0, 16);
  } catch {
    return "unknown";
  }
}

/**
 * Whether a process has a pending SIGKILL. Until it has exited (about 100 ms on a busy machine) it does not answer requests
 * but still holds its data folder and ports.
 */
export function isEnding(pid: number): boolean {
  try {
    const [, pending = "0"] = /^ShdPnd:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (BigInt(`0x${pending}`) & killSignal) !== 0n;
  } catch {
    return true;
  }
}

/** SIGKILL in a mask of signals. */
const killSignal = 1n << 8n;

/** Field 22 of /proc/PID/stat: ticks from boot to the start of the process. Field 2 may hold spaces, so count from its end. */
export function processStartOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // The main thread can exit before other threads, which still hold the resources of the process.
    const isOver = state === "Z" && readdirSync(`/proc/${pid}/task`).length < 2;
    return isOver ? undefined : rest[18];
  } catch {
    return undefined;
  }
}
