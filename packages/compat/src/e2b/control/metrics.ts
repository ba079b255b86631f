import { requireConnect } from "../../control/require-connect.ts";
import { requireBound } from "../../control/require-machine.ts";
import { sendJson } from "../../http/reply.ts";
import { usageOf } from "../../runtime/usage.ts";
import type { ControlCall } from "./context.ts";
import { targetOf } from "./probe.ts";
import { isPaused, resourcesOf } from "./sandbox-json.ts";

/** `GET /sandboxes/{id}/metrics`: one current sample. Nothing keeps older ones. */
export async function metrics(call: ControlCall): Promise<void> {
  const { context, response, signal, query } = call;
  const machine = await requireBound(call);
  await requireConnect(call, machine.sandbox.metadata.name ?? "");
  const now = Math.floor(context.now() / 1000);
  const isInRange = Number(query.get("end") ?? now) >= now && Number(query.get("start") ?? 0) <= now;
  if (isPaused(machine) || !isInRange) {
    sendJson(response, 200, []);
    return;
  }
  const usage = await usageOf(context.runtime, targetOf(context, machine), signal);
  const { cpuCount } = resourcesOf(machine.sandbox);
  const timestamp = new Date(now * 1000).toISOString();
  sendJson(response, 200, [{ timestamp, timestampUnix: now, ...usage, cpuCount: usage.cpuCount ?? cpuCount }]);
}
