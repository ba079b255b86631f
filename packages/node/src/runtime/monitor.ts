import { readdir, readFile, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { messageOf, NodeError } from "../errors.ts";
import type { ContainerPaths } from "../layout.ts";
import type { ContainerIo } from "../pod/record.ts";
import { endProcess } from "../system/processes.ts";
import { cannotRun } from "../system/run-command.ts";
import { type Program, startProgram } from "../system/start-program.ts";
import type { ContainerRole, OciRuntime, RuntimeCommand } from "./oci-runtime.ts";
import { runtimeMessage } from "./runtime-message.ts";

/** The log is rotated when it reaches this size. */
const logLimitBytes = 10 * 1024 * 1024;
const createTimeoutMs = 60_000;

export interface MonitorRequest {
  readonly runtime: OciRuntime;
  readonly id: string;
  /** Default "alone". */
  readonly role?: ContainerRole;
  readonly paths: ContainerPaths;
  readonly log: string;
  readonly exitsDir: string;
  readonly io?: ContainerIo | undefined;
  /** The machine's id of the container's user, in a Pod with a user namespace. */
  readonly owner?: number | undefined;
  /** Restores the container from this folder instead of starting its command. */
  readonly restoreFrom?: string | undefined;
}

/**
 * Creates a container under conmon, a small process that writes the container's log and its exit code. conmon detaches
 * from this process, so that it and the container continue when this process stops or is killed. Resolves with the pid of
 * the container's first process.
 */
export async function createMonitored(request: MonitorRequest): Promise<number> {
  const { runtime, id } = request;
  const { stdio } = startMonitor(request);
  const [, , complaint, report] = stdio as readonly [undefined, undefined, Socket, Socket];
  const timer = setTimeout(() => report.destroy(new Error(`no answer within ${createTimeoutMs} ms`)), createTimeoutMs);
  try {
    const said = await firstLine(report);
    // If conmon ended without a report, its error output is complete.
    const answer = said === "" ? { pid: -1, message: (await text(complaint)).trim() } : parseReport(said);
    if (answer.pid > 0) return answer.pid;
    throw new Error(answer.message);
  } catch (error) {
    const message = `Cannot create container "${id}" with ${runtime.name}: ${messageOf(error)}`;
    throw new NodeError("CreateContainerError", message, { cause: error });
  } finally {
    clearTimeout(timer);
    report.destroy();
    complaint.destroy();
  }
}

function startMonitor(request: MonitorRequest): Program {
  try {
    return startProgram("conmon", monitorArgs(request), {
      // conmon ends when it cannot report, and the container continues without a monitor. So it has the peer of its report too, in
      // case this process is killed before.
      stdio: ["ignore", "ignore", "pipe", "pipe", "peer"],
      // conmon reports over the descriptor in this variable: one line with the pid, or with -1 and an error message.
      env: { PATH: process.env["PATH"], _OCI_SYNCPIPE: "3", ...shortLived(request.runtime) },
      session: true,
      // conmon creates the file "oom" in its working directory when the container is OOM-killed.
      cwd: request.paths.bundle,
    });
  } catch (error) {
    throw cannotRun("conmon", error);
  }
}

/**
 * Turns off Go's garbage collector for runc, which is short-lived: this makes it a tenth faster. Its containers do not inherit
 * the setting. Not for gVisor, whose processes are long-lived.
 */
function shortLived({ kind }: OciRuntime): Record<string, string> {
  return kind === "runc" ? { GOGC: "off" } : {};
}

function monitorArgs(request: MonitorRequest): string[] {
  const { runtime, id, paths, log, exitsDir, io } = request;
  const create = createCommand(request);
  return [
    `--cid=${id}`,
    `--cuuid=${id}`,
    `--name=${id}`,
    `--runtime=${create.program}`,
    ...create.args.map((arg) => `--runtime-arg=${arg}`),
    `--bundle=${paths.bundle}`,
    `--persist-dir=${paths.bundle}`,
    `--container-pidfile=${paths.pidFile}`,
    `--conmon-pidfile=${paths.monitorPidFile}`,
    `--log-path=k8s-file:${log}`,
    `--log-size-max=${logLimitBytes}`,
    "--no-sync-log",
    `--exit-dir=${exitsDir}`,
    "--full-attach",
    ...(io?.stdin ? ["--stdin", ...(io.stdinOnce ? [] : ["--leave-stdin-open"])] : []),
    ...(io?.tty ? ["--terminal"] : []),
    // runsc does not have this option: its sandboxes have no access to the machine's keyrings.
    ...(runtime.kind === "runc" ? ["--no-new-keyring"] : []),
    "--log-level=error",
  ];
}

function createCommand({ runtime, role = "alone", owner, restoreFrom }: MonitorRequest): RuntimeCommand {
  if (restoreFrom === undefined) return runtime.createCommand(role, owner);
  if (runtime.checkpoints !== undefined) return runtime.checkpoints.restoreCommand(role, restoreFrom);
  throw new Error("this runtime cannot restore containers");
}

/** Not `for await`: leaving such a loop creates an error, and the first error of the process loads all source maps. */
function firstLine(stream: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    said += chunk;
    const end = said.indexOf("\n");
    if (end >= 0) resolve(said.slice(0, end));
  });
  stream.on("end", () => resolve(said));
  stream.on("error", reject);
  return promise;
}

function parseReport(line: string): { pid: number; message: string } {
  const answer = JSON.parse(line) as { data?: number; pid?: number; message?: string };
  return {
    pid: answer.data ?? answer.pid ?? -1,
    message: runtimeMessage(answer.message ?? "the runtime gave no reason"),
  };
}

/** Ends the monitor of a removed container. */
export async function endMonitor(exitsDir: string, id: string): Promise<void> {
  for (const monitor of await findMonitors(exitsDir)) {
    if (monitor.id === id) await endProcess(monitor.pid);
  }
  await rm(join(exitsDir, id), { force: true });
}

/** The monitors that write their exit files to a folder, with the ids of their containers. */
export async function findMonitors(exitsDir: string): Promise<{ pid: number; id: string }[]> {
  const found: { pid: number; id: string }[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const words = await commandLine(Number(name));
    if (!words[0]?.endsWith("conmon") || !words.includes(`--exit-dir=${exitsDir}`)) continue;
    const id = words.find((word) => word.startsWith("--cid="))?.slice("--cid=".length);
    if (id !== undefined) found.push({ pid: Number(name), id });
  }
  return found;
}

async function commandLine(pid: number): Promise<string[]> {
  try {
    return (await readFile(join("/proc", String(pid), "cmdline"), "utf8")).split("\0");
  } catch {
    // The process has ended in the meantime.
    return [];
  }
}
