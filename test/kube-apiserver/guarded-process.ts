import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** A server process that is killed with the thread that started it, even if this process is killed. */
export interface GuardedProcess {
  readonly name: string;
  readonly pid: number;
  /** The file with its output. */
  readonly logFile: string;
  /** Resolves when it has ended for any reason. */
  readonly exited: Promise<void>;
  readonly running: boolean;
  /** Sends SIGKILL and waits for the end. Safe to repeat. */
  kill(): Promise<void>;
}

/**
 * The kernel sends the signal when the parent dies after `setpriv` has run. A parent that died earlier is detected by comparing the
 * parent's process ID.
 */
const underGuard = ["--pdeathsig", "KILL", "--", "sh", "-c", 'test "$PPID" = "$1" && shift && exec "$@"', "sh"];

export interface GuardedSettings {
  readonly flags: readonly string[];
  readonly logFile: string;
  /** Variables besides the PATH. */
  readonly env: { readonly [name: string]: string };
}

export function startGuarded(file: string, { flags, logFile, env }: GuardedSettings): GuardedProcess {
  const name = basename(file);
  const log = openSync(logFile, "a");
  const child = spawn("setpriv", [...underGuard, String(process.pid), file, ...flags], {
    // A separate process group, so that Ctrl-C in a terminal reaches only the test, which then stops its servers.
    detached: true,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const exited = gone(child);
  if (child.pid === undefined)
    throw new Error(`Cannot start ${name}: the setpriv command (Debian: util-linux) is missing`);
  return {
    name,
    pid: child.pid,
    logFile,
    exited,
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    kill: () => {
      child.kill("SIGKILL");
      return exited;
    },
  };
}

async function gone(child: ChildProcess): Promise<void> {
  await once(child, "exit").catch(() => undefined);
}

/** The end of its output, for an error message. */
export function logTail({ logFile }: GuardedProcess): string {
  return readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-15).join("\n");
}
