import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { mintV1, signingKey } from "@agent-sandbox/router";

export interface Arm {
  readonly child: ChildProcess;
  readonly host: string;
  readonly port: number;
}

export interface Arms extends Disposable {
  readonly backend: Arm;
  readonly splice: Arm;
  readonly router: Arm;
  /** The headers that bring a request through the router to a sandbox. */
  headersTo(name: string): Record<string, string>;
}

const secret = "k".repeat(32);

async function start(script: string, ...args: string[]): Promise<Arm> {
  const execArgv = ["--conditions=source", "--disable-warning=ExperimentalWarning"];
  const stdio = ["ignore", "pipe", "inherit", "ipc"] as const;
  const child = fork(join(import.meta.dirname, script), args, { execArgv, stdio: [...stdio] });
  if (!child.stdout) throw new Error(`Cannot start ${script}: it has no output`);
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, ...(JSON.parse(line) as { host: string; port: number }) };
  }
  throw new Error(`Cannot start ${script}: it ended with code ${child.exitCode} and said nothing`);
}

/** Client, router or splice, and backend: each a process of its own. */
export async function startArms({ sleepers }: { readonly sleepers: number }): Promise<Arms> {
  const backend = await start("data-plane-backend.ts");
  const splice = await start("data-plane-splice.ts", backend.host, String(backend.port));
  const router = await start("data-plane-router.ts", backend.host, secret, String(sleepers));
  const key = signingKey(secret);
  if ("error" in key) throw new Error(key.error);
  return {
    backend,
    splice,
    router,
    headersTo: (name) => ({
      "x-sandbox-id": name,
      "x-sandbox-port": String(backend.port),
      authorization: `Bearer ${mintV1({ ns: "default", name, exp: 4_102_444_800 }, key)}`,
    }),
    [Symbol.dispose]: () => {
      for (const { child } of [backend, splice, router]) child.kill();
    },
  };
}

export interface RouterReport {
  readonly askedMs: number;
  readonly readyMs: number;
  readonly rssBytes: number;
}

export async function reportOf({ child }: Arm): Promise<RouterReport> {
  const answered = once(child, "message") as Promise<[RouterReport]>;
  child.send("report");
  const [report] = await answered;
  return report;
}

/** Processor time of a process so far, in microseconds. */
export function cpuMicros({ child }: Arm): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  // User and system time, in the hundredths of a second that Linux counts for programs.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}
