import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "./run.ts";
import { folder } from "./settings.ts";

/** The first process of the node, as the machine sees it. The start time tells it from a later process with the same ID. */
export interface NodeProcess {
  readonly pid: number;
  readonly startedAt: string;
}

const record = `${folder}/node.json`;

export function saveNodeProcess(pid: number): void {
  const startedAt = startTime(pid);
  if (startedAt === undefined) throw new Error("the node's first process has ended");
  writeFileSync(record, JSON.stringify({ pid, startedAt } satisfies NodeProcess));
}

/** The running node. Throws if there is none. */
export function nodeProcess(): NodeProcess {
  const found = findNodeProcess();
  if (found === undefined) throw new Error("The test cluster is not running: run make cluster-up");
  return found;
}

export function findNodeProcess(): NodeProcess | undefined {
  if (!existsSync(record)) return undefined;
  const saved = JSON.parse(readFileSync(record, "utf8")) as NodeProcess;
  return startTime(saved.pid) === saved.startedAt ? saved : undefined;
}

/** Field 22 of /proc/<pid>/stat, in ticks since boot. Undefined if the process has ended. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? undefined : fields[18];
  } catch {
    return undefined;
  }
}

/** Kills the node, and with it all its processes, and waits for their end. */
export async function killNode(): Promise<void> {
  const found = findNodeProcess();
  if (found !== undefined) {
    process.kill(found.pid, "SIGKILL");
    while (findNodeProcess() !== undefined) await sleep(20);
  }
  rmSync(record, { force: true });
}

/** Runs a program in the namespaces of the node. */
export function runOnNode(...words: readonly string[]): Promise<string> {
  const { pid } = nodeProcess();
  return run("nsenter", ["--target", String(pid), "--mount", "--net", "--pid", "--uts", "--ipc", "--", ...words]);
}

/** The process ID of a service, as the node sees it. */
export function servicePid(name: string): string {
  return readFileSync(`${folder}/pids/${name}`, "utf8").trim();
}

/** Sends a signal to a service. One that ends is started again half a second later. */
export async function signalService(name: string, signal: "KILL" | "STOP" | "CONT" | "TERM"): Promise<void> {
  await runOnNode("kill", `-${signal}`, servicePid(name));
}
