import { readdirSync, readFileSync } from "node:fs";
import type { Exposition } from "@agent-sandbox/api";

/** Writes resource usage of the process. In the box this includes all components but the Pods. */
export function writeProcess(to: Exposition): void {
  const { user, system } = process.cpuUsage();
  const gauge = (name: string, help: string, value: number | undefined): void => {
    if (value === undefined) return;
    to.metric(name, "gauge", help);
    to.sample(name, "", value);
  };
  to.metric("process_cpu_seconds_total", "counter", "Processor time that was used.");
  to.sample("process_cpu_seconds_total", "", (user + system) / 1e6);
  gauge("process_resident_memory_bytes", "Memory that is held.", process.memoryUsage.rss());
  gauge("process_start_time_seconds", "When the process started, in Unix time.", performance.timeOrigin / 1000);
  gauge("process_open_fds", "Files and connections that are open.", openFiles());
  gauge("process_max_fds", "How many may be.", maxFiles());
}

/** `undefined` where /proc is not available. */
function openFiles(): number | undefined {
  try {
    // Do not count the descriptor that reads the folder.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return undefined;
  }
}

function maxFiles(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
