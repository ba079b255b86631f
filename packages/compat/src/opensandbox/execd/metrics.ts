import { setTimeout as sleep } from "node:timers/promises";
import { sendJson } from "../../http/reply.ts";
import { usageOf } from "../../runtime/usage.ts";
import type { ExecdCall } from "./context.ts";

const mebibyte = 1024 * 1024;
const intervalMs = 1000;

/** `GET /metrics` */
export async function metrics(call: ExecdCall): Promise<void> {
  sendJson(call.response, 200, await sample(call));
}

/** `GET /metrics/watch`: a sample every second. */
export async function watchMetrics(call: ExecdCall): Promise<void> {
  const { response, signal } = call;
  const first = await sample(call);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (let value = first; ; value = await sample(call)) {
    // A client that does not read gets no more of them.
    if (!response.writableNeedDrain) response.write(`data: ${JSON.stringify(value)}\n\n`);
    await sleep(intervalMs, undefined, { signal });
  }
}

async function sample({ context, target, signal }: ExecdCall): Promise<object> {
  const { cpuCount, cpuUsedPct, memTotal, memUsed } = await usageOf(context.runtime, target, signal);
  return {
    cpu_count: cpuCount,
    cpu_used_pct: cpuUsedPct,
    mem_total_mib: memTotal / mebibyte,
    mem_used_mib: memUsed / mebibyte,
    timestamp: Date.now(),
  };
}
