import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** A server of the test's own. It dies with the thread that started it, even if this process is killed. */
export interface GuardedProcess {
  readonly name: string;
  readonly pid: number;
  /** Where its output goes. */
  readonly logFile: string;
  /** Resolves once it is gone, for whatever reason. */
  readonly exited: Promise<void>;
  readonly running: boolean;
  /** Kills it without asking, and waits until it is gone. Safe to repeat. */
  kill(): Promise<void>;
}

/**
 * The kernel sends the signal when the parent dies after the request for it; a parent that died before is noticed by
 * comparing the parent's process id.
 */
const underGuard = ["--pdeathsig", "KILL", "--", "sh", "-c", 'test "$PPID" = "$1" && shift && exec "$@"', "sh"];

export function startGuarded(file: string, flags: readonly string[], logFile: string): GuardedProcess {
  const name = basename(file);
  const log = openSync(logFile, "a");
  const child = spawn("setpriv", [...underGuard, String(process.pid), file, ...flags], {
    // a group of its own: Ctrl-C in a terminal is for the test, which stops what it started
    detached: true,
    env: { PATH: process.env["PATH"] },
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

/** The end of what it printed, for an error message. */
export function lastWords({ logFile }: GuardedProcess): string {
  return readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-15).join("\n");
}
