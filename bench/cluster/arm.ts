import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

/**
 * A controller to measure: a folder with the executable file `run`, which starts it in the foreground with the cluster of KUBECONFIG, and
 * optionally the folder `manifests`, which is applied before. Without a folder it is the manager of this clone.
 */
export interface Arm {
  readonly name: string;
  readonly command: readonly string[];
  readonly manifests: readonly string[];
}

const root = resolve(import.meta.dirname, "../..");

/** Prints nothing that a scrape would, and needs no address that another manager of the machine has. */
const ourFlags = [
  "--extensions",
  "--enable-webhook=false",
  "--metrics-bind-address=0",
  "--health-probe-bind-address=0",
  // A busy machine must not end a run.
  "--leader-elect=false",
];

export function armFrom(name: string, folder: string | undefined): Arm {
  if (folder === undefined)
    return { name, command: [join(root, "dist/agent-sandbox"), "manager", ...ourFlags], manifests: [] };
  const run = resolve(folder, "run");
  if (!existsSync(run)) throw new Error(`Cannot measure "${folder}": it has no executable file "run"`);
  const manifests = resolve(folder, "manifests");
  const files = existsSync(manifests) ? readdirSync(manifests).sort() : [];
  return {
    name: `${name} (${basename(resolve(folder))})`,
    command: [run],
    manifests: files.map((file) => join(manifests, file)),
  };
}

/** What the processes of an arm have used. */
export interface Usage {
  readonly cpuSeconds: number;
  /** The most memory at one time. */
  readonly peakMiB: number;
}

/** A running controller. Stopped on disposal. */
export class RunningArm implements AsyncDisposable {
  readonly #pid: number;
  readonly #exited: Promise<unknown>;
  #hasEnded = false;

  constructor({ command }: Arm, kubeconfig: string, logFile: string) {
    const log = openSync(logFile, "a");
    const [file = "", ...words] = command;
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    // Killed with this process. The group is separate, so that it contains all processes of the controller and no others.
    const guarded = ["--pdeathsig", "KILL", "--", file, ...words];
    const child = spawn("setpriv", guarded, { env, detached: true, stdio: ["ignore", log, log] });
    closeSync(log);
    this.#pid = child.pid ?? 0;
    this.#exited = once(child, "exit").finally(() => {
      this.#hasEnded = true;
    });
  }

  /** The result of a measurement. Rejects if the controller ends first. */
  whileRunning<R>(measuring: Promise<R>): Promise<R> {
    const ended = this.#exited.then((): never => {
      throw new Error("The controller has ended: see its log");
    });
    return Promise.race([measuring, ended]);
  }

  /** Of the process and its children. */
  usage(): Usage {
    const pids = membersOf(this.#pid);
    const ticksPerSecond = 100;
    const ticks = pids.reduce((sum, pid) => sum + ticksOf(pid), 0);
    return { cpuSeconds: ticks / ticksPerSecond, peakMiB: pids.reduce((sum, pid) => sum + peakKiB(pid), 0) / 1024 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) process.kill(-this.#pid, "SIGTERM");
    await this.#exited;
  }
}

/** The processes of the arm's process group. */
function membersOf(group: number): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && Number(statOf(pid)[2]) === group);
}

/** The fields after the name: state, parent, process group, … */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** User and system time, also of children that have ended. */
const ticksOf = (pid: number): number =>
  statOf(pid)
    .slice(11, 15)
    .reduce((sum, ticks) => sum + Number(ticks), 0);

function peakKiB(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
