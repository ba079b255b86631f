import type { Sandbox } from "@agent-sandbox/api";
import { lifetimeOf } from "../../cluster/lifetime.ts";
import type { Machine } from "../../cluster/machine.ts";
import { pauseMachine } from "../../cluster/pause-machine.ts";
import { requireBound } from "../../control/require-machine.ts";
import { flagField } from "../../http/fields.ts";
import { HttpError } from "../../http/http-error.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendEmpty } from "../../http/reply.ts";
import { type ControlCall, maxControlBytes } from "./context.ts";
import { answerWithinMs } from "./create.ts";
import { probe } from "./probe.ts";
import { isPaused } from "./sandbox-json.ts";

/** `POST /sandboxes/{id}/pause`. Answers when the sandbox is paused. */
export async function pause(call: ControlCall): Promise<void> {
  const { account, request } = call;
  const body = await readJsonObject(request, maxControlBytes);
  const keepMemory = flagField(body, "memory") ?? true;
  const needsHealth = flagField(body, "requireHealthyGuest") ?? false;
  const machine = await requireBound(call);
  if (isPaused(machine)) throw new HttpError(409, `Sandbox ${machine.name} is already paused`);
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(answerWithinMs)]);
  if (needsHealth) await requireHealth(call, machine, signal);
  const { autoResume } = lifetimeOf(machine);
  const asked = await pauseMachine(account.client, machine, {
    resumePolicy: autoResume ? "OnTraffic" : "Manual",
    suspendPolicy: { depth: keepMemory ? "Memory" : "Filesystem", fallback: "Allow" },
  });
  await untilPaused(call, asked, signal);
  sendEmpty(call.response, 204);
}

async function untilPaused({ context }: ControlCall, asked: Sandbox, signal: AbortSignal): Promise<void> {
  try {
    await context.directory.untilTrue(asked, "Suspended", signal);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new HttpError(503, "The sandbox was not paused in time", { cause });
  }
}

async function requireHealth(
  { context }: ControlCall,
  machine: Machine & { readonly sandbox: Sandbox },
  signal: AbortSignal,
): Promise<void> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(5000)]);
  try {
    await probe(context, machine, patience);
  } catch (cause) {
    const details = { error_code: "sandbox_snapshot_guest_agent_unresponsive" };
    throw new HttpError(500, "The daemon of the sandbox does not answer", { cause, details });
  }
}
