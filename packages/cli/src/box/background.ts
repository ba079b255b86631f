import { spawn } from "node:child_process";
import { openSync, readFileSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { undoOnSignal } from "../client/undo-on-signal.ts";
import { CommandError } from "../command-error.ts";
import type { BoxPaths } from "./box-paths.ts";
import { findRunningBox, isEnding, type RunningBox } from "./running-box.ts";

/** The message that the box sends once to the command that started it. */
export type StartReport =
  | { readonly ready: true; readonly warnings: readonly string[] }
  | { readonly ready: false; readonly error: string };

export interface StartedBox extends RunningBox {
  readonly warnings: readonly string[];
}

/**
 * Starts the box in a background process and waits until it serves requests. Its output goes to the log file. A signal to this program
 * ends the start too, unless the caller ignores signals because a box was running before.
 */
export async function startInBackground(
  paths: BoxPaths,
  foregroundArguments: readonly string[],
  { ignoresSignals = false }: { readonly ignoresSignals?: boolean } = {},
): Promise<StartedBox> {
  const log = openSync(paths.log, "a", 0o600);
  const logStart = statSync(paths.log).size;
  const [script = ""] = process.argv.slice(1);
  const child = spawn(process.execPath, [...process.execArgv, script, ...foregroundArguments], {
    detached: true,
    stdio: ["ignore", log, log, "ipc"],
    cwd: "/",
  });
  using _undo = ignoresSignals ? undefined : undoOnSignal(() => child.kill("SIGTERM"));
  const report = await new Promise<StartReport>((resolve, reject) => {
    child.once("message", (message) => resolve(message as StartReport));
    child.once("exit", (code, signal) =>
      resolve({ ready: false, error: endOfLog(paths.log, logStart, code ?? signal) }),
    );
    child.once("error", reject);
  });
  // This command must exit even while the box still runs, also one that failed to start and is still stopping.
  if (child.connected) child.disconnect();
  child.unref();
  if (!report.ready) throw new CommandError(`Cannot start the box: ${report.error}`);
  const box = findRunningBox(paths);
  if (box === undefined) throw new CommandError(`The box exited right after it started; see ${paths.log}`);
  return { ...box, warnings: report.warnings };
}

function endOfLog(path: string, from: number, status: number | string | null): string {
  const text = readFileSync(path).subarray(from).toString("utf8").trim().split("\n").slice(-5).join("\n");
  return `it exited with ${status ?? "no status"}${text ? `:\n${text}` : ""}\nFull log: ${path}`;
}

/** Sends SIGTERM, waits, and then sends SIGKILL. Killing the box is safe: acknowledged writes are already on disk. */
export async function stopBox(paths: BoxPaths, box: RunningBox, patienceMs: number): Promise<void> {
  signalBox(box, "SIGTERM");
  if (await goneWithin(paths, patienceMs)) return;
  signalBox(box, "SIGKILL");
  if (!(await goneWithin(paths, 5_000)))
    throw new CommandError(`Cannot stop the box: process ${box.pid} does not exit`);
}

/** The members of the box's group see its record, but only root may end its process. */
function signalBox({ pid }: RunningBox, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
    const why = `its process ${pid} belongs to another user; run the command with sudo`;
    throw new CommandError(`Cannot stop the box: ${why}`, { cause: error });
  }
}

/** Returns the box that uses this folder. Waits for the exit of a box that was just killed. */
export async function findLastingBox(paths: BoxPaths): Promise<RunningBox | undefined> {
  const box = findRunningBox(paths);
  if (box === undefined || !isEnding(box.pid)) return box;
  if (await goneWithin(paths, endingMs)) return undefined;
  throw new CommandError(`Cannot start the box: process ${box.pid} of the previous box was killed but has not exited`);
}

const endingMs = 10_000;

/** Polls, because the exit of a process that is not our child is not signalled. */
async function goneWithin(paths: BoxPaths, limitMs: number): Promise<boolean> {
  const until = performance.now() + limitMs;
  while (performance.now() < until) {
    if (findRunningBox(paths) === undefined) return true;
    await sleep(20);
  }
  return false;
}
