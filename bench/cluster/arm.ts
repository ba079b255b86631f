import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { freePort } from "../../test/free-port.ts";

/**
 * A controller to measure: a folder with the executable file `run`, which starts it in the foreground with the settings below as
 * environment variables, and optionally the folder `manifests`, which is applied before. Without a folder it is the manager of this clone.
 */
export interface Arm {
  readonly name: string;
  command(settings: Settings): readonly string[];
  readonly manifests: readonly string[];
}

interface Settings {
  readonly KUBECONFIG: string;
  /** Reconciles are counted if the controller serves its metrics here. */
  readonly METRICS_ADDRESS: string;
  /** `true` if several processes of the controller run, of which only the holder of a lease in the namespace `default` may work. */
  readonly LEADER_ELECT: string;
}

const ourCommand = ({ METRICS_ADDRESS: metrics, LEADER_ELECT: elects }: Settings): string[] => [
  resolve(import.meta.dirname, "../../dist/agent-sandbox"),
  "manager",
  "--extensions",
  `--leader-elect=${elects}`,
  "--leader-election-namespace=default",
  `--metrics-bind-address=${metrics}`,
  // An installed manager may have these addresses.
  "--enable-webhook=false",
  "--health-probe-bind-address=0",
];

export interface StartOptions {
  readonly kubeconfig: string;
  /** Where its output is appended. */
  readonly log: string;
  /** Default: false, so that a busy machine does not end a run. */
  readonly elects?: boolean;
}

export function armFrom(name: string, folder: string | undefined): Arm {
  if (folder === undefined) return { name, command: ourCommand, manifests: [] };
  const run = resolve(folder, "run");
  if (!existsSync(run)) throw new Error(`Cannot measure "${folder}": it has no executable file "run"`);
  const manifests = resolve(folder, "manifests");
  const files = existsSync(manifests) ? readdirSync(manifests).sort() : [];
  return {
    name: `${name} (${basename(resolve(folder))})`,
    command: () => [run],
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
  readonly #metrics: string;
  #hasEnded = false;

  static async start(arm: Arm, { kubeconfig, log, elects = false }: StartOptions): Promise<RunningArm> {
    const METRICS_ADDRESS = `127.0.0.1:${await freePort()}`;
    return new RunningArm(arm, { KUBECONFIG: kubeconfig, METRICS_ADDRESS, LEADER_ELECT: String(elects) }, log);
  }

  private constructor(arm: Arm, settings: Settings, logFile: string) {
    this.#metrics = `http://${settings.METRICS_ADDRESS}/metrics`;
    const log = openSync(logFile, "a");
    const [file = "", ...words] = arm.command(settings);
    const env = { ...process.env, ...settings };
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

  /** The passes of all its controllers since its start. NaN if it does not say. */
  async reconciles(): Promise<number> {
    const response = await fetch(this.#metrics).catch(() => undefined);
    const lines = (await response?.text())?.match(/^controller_runtime_reconcile_total\{.*$/gm);
    return lines?.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0) ?? Number.NaN;
  }

  /** Ends it as a crash does. */
  async kill(): Promise<void> {
    if (!this.#hasEnded) process.kill(-this.#pid, "SIGKILL");
    await this.#exited;
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
