import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/** The process that listens on a TCP port of this machine, as in `process 812 (nginx)`. Undefined if it cannot be seen. */
export function findPortHolder(port: number): string | undefined {
  const inodes = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) => listeners(table, port)));
  if (inodes.size === 0) return undefined;
  const pid = pids().find((one) => holdsSocket(one, inodes));
  return pid === undefined ? undefined : `process ${pid} (${programOf(pid)})`;
}

const listenState = "0A";

/** The inodes of listening sockets. The columns of /proc/net/tcp are described in proc(5). */
export function listeners(table: string, port: number): string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return linesOf(table).flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    return state === listenState && local.endsWith(`:${wanted}`) ? [inode] : [];
  });
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    return [];
  }
}

const pids = (): string[] => readdirSync("/proc").filter((name) => /^\d+$/.test(name));

/** Processes end meanwhile, and those of other users cannot be read. */
function holdsSocket(pid: string, inodes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return inodes.has(/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? "");
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}

function programOf(pid: string): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return "unknown program";
  }
}
