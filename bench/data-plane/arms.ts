import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { mintV1, signingKey } from "@agent-sandbox/router";
import { type Daemon, startDaemon } from "./daemon.ts";

export interface Arm {
  readonly child: ChildProcess;
  readonly host: string;
  readonly port: number;
}

export interface Arms extends AsyncDisposable {
  readonly backend: Arm;
  readonly splice: Arm;
  readonly router: Arm;
  /** A second router without traffic before the measurement, to measure memory. */
  readonly freshRouter: () => Promise<Arm>;
  readonly daemon: Daemon;
  /** Starts commands directly on this machine. */
  readonly spawner: Arm;
  /** The headers that route a request to a sandbox. */
  headersTo(name: string, port?: number): Record<string, string>;
}

export interface ArmsOptions {
  readonly sleepers: number;
}

const secret = "k".repeat(32);

const routerScript = "router.ts";

async function start(script: string, ...args: string[]): Promise<Arm> {
  const isRouter = script === routerScript;
  const flags = ["--conditions=source", "--disable-warning=ExperimentalWarning", "--expose-gc"];
  const child = fork(join(import.meta.dirname, script), args, {
    // The launcher uses the same memory flags.
    execArgv: isRouter ? [...flags, "--max-semi-space-size=8"] : flags,
    env: isRouter ? { ...process.env, MALLOC_ARENA_MAX: "1" } : process.env,
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  if (!child.stdout) throw new Error(`Cannot start ${script}: it has no output`);
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, ...(JSON.parse(line) as { host: string; port: number }) };
  }
  throw new Error(`Cannot start ${script}: it exited with code ${child.exitCode} without output`);
}

/** Starts the router, the splice and the backend in separate processes, and sandboxd in place of the sandbox `runner`. */
export async function startArms({ sleepers }: ArmsOptions): Promise<Arms> {
  await using starting = new AsyncDisposableStack();
  const owned = (arm: Arm): Arm => {
    starting.defer(() => void arm.child.kill());
    return arm;
  };
  const backend = owned(await start("backend.ts"));
  const splice = owned(await start("splice.ts", backend.host, String(backend.port)));
  const spawner = owned(await start("spawn.ts"));
  const daemon = starting.use(await startDaemon());
  const routerOptions = { podIp: backend.host, secret, sleepers, daemonIp: daemon.host, daemonToken: daemon.token };
  const startRouter = (): Promise<Arm> => start(routerScript, JSON.stringify(routerOptions));
  const router = owned(await startRouter());
  const key = signingKey(secret);
  if ("error" in key) throw new Error(key.error);
  const stack = starting.move();
  return {
    backend,
    splice,
    router,
    daemon,
    spawner,
    freshRouter: async () => {
      const arm = await startRouter();
      stack.defer(() => void arm.child.kill());
      return arm;
    },
    headersTo: (name, port = backend.port) => ({
      "x-sandbox-id": name,
      "x-sandbox-port": String(port),
      authorization: `Bearer ${mintV1({ ns: "default", name, exp: 4_102_444_800 }, key)}`,
    }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export interface RouterReport {
  readonly askedMs: number;
  readonly readyMs: number;
  readonly rssBytes: number;
}

/** Asks a router process for its state, after a garbage collection. */
export async function reportOf({ child }: Arm): Promise<RouterReport> {
  const answered = once(child, "message") as Promise<[RouterReport]>;
  child.send("report");
  const [report] = await answered;
  return report;
}

/** The CPU time of a process so far, in microseconds. */
export function cpuMicros({ child }: Arm): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}
