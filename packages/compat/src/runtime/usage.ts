import { setTimeout as sleep } from "node:timers/promises";
import { callRest } from "./rest.ts";
import type { Runtime, Target } from "./runtime.ts";

/** Usage of a sandbox in the units of E2B. */
export interface Usage {
  readonly cpuCount: number;
  readonly cpuUsedPct: number;
  readonly memUsed: number;
  readonly memTotal: number;
  readonly memCache: number;
  readonly diskUsed: number;
  readonly diskTotal: number;
}

interface Report {
  readonly observed_at: string;
  readonly cpu: { readonly used_seconds: number; readonly limit_cores: number };
  readonly memory: { readonly used_bytes: number; readonly limit_bytes?: number };
  readonly disk: { readonly used_bytes: number; readonly total_bytes: number };
}

/** Long enough for a share of processor time that means something. */
const sampleMs = 100;

export async function usageOf(runtime: Runtime, target: Target, signal: AbortSignal): Promise<Usage> {
  const read = (): Promise<Report> => callRest(runtime, target, { method: "GET", path: "/v1/usage", signal });
  const before = await read();
  await sleep(sampleMs, undefined, { signal });
  const { cpu, memory, disk, observed_at } = await read();
  const seconds = (Date.parse(observed_at) - Date.parse(before.observed_at)) / 1000;
  const share = seconds > 0 ? (cpu.used_seconds - before.cpu.used_seconds) / seconds : 0;
  return {
    cpuCount: Math.max(1, Math.ceil(cpu.limit_cores)),
    cpuUsedPct: Math.max(0, Math.round(share * 10_000) / 100),
    memUsed: memory.used_bytes,
    // Without a limit: what the machine has is not shown.
    memTotal: memory.limit_bytes ?? memory.used_bytes,
    memCache: 0,
    diskUsed: disk.used_bytes,
    diskTotal: disk.total_bytes,
  };
}
