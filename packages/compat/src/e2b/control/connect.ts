import type { Sandbox } from "@agent-sandbox/api";
import type { Machine } from "../../cluster/machine.ts";
import { resumeMachine } from "../../cluster/pause-machine.ts";
import { requireConnect } from "../../control/require-connect.ts";
import { requireBound } from "../../control/require-machine.ts";
import { flagField } from "../../http/fields.ts";
import { badRequest, HttpError } from "../../http/http-error.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { type ControlCall, maxControlBytes } from "./context.ts";
import { answerWithinMs } from "./create.ts";
import { probe } from "./probe.ts";
import { isPaused } from "./sandbox-json.ts";
import { sessionJson } from "./session-json.ts";
import { extendDeadline, timeoutField } from "./timeouts.ts";

/** `POST /sandboxes/{id}/connect` of both generations, and `/resume`. Resumes a paused sandbox; never shortens the time of a running one. */
export async function connect(call: ControlCall, defaults: { readonly timeoutSeconds: number }): Promise<void> {
  const { context, request } = call;
  const body = await readJsonObject(request, maxControlBytes);
  const seconds = timeoutField(context, body, defaults.timeoutSeconds);
  const wantsMemory = flagField(body, "memory") ?? true;
  const machine = await requireBound(call);
  await requireConnect(call, machine.sandbox.metadata.name ?? "");
  const wasPaused = isPaused(machine);
  if (!wasPaused) {
    await extendDeadline(call, machine, seconds);
    sendJson(call.response, 200, sessionJson(context, machine));
    return;
  }
  const keptMemory = machine.sandbox.status?.suspension?.depth === "Memory";
  if (!wantsMemory && keptMemory) throw badRequest("memory=false is not supported for a sandbox whose memory was kept");
  const sandbox = await resume(call, machine, seconds);
  sendJson(call.response, 201, sessionJson(context, { ...machine, sandbox }));
}

async function resume(
  call: ControlCall,
  machine: Machine & { readonly sandbox: Sandbox },
  seconds: number,
): Promise<Sandbox> {
  const { context, account } = call;
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(answerWithinMs)]);
  const { asked, settled } = await resumeMachine(account.client, machine, { now: context.now(), seconds });
  try {
    const [ready] = await Promise.all([context.directory.untilTrue(asked, "Ready", signal), settled]);
    await probe(context, { ...machine, sandbox: ready }, signal);
    return ready;
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new HttpError(503, "The sandbox was not resumed in time", { cause });
  }
}
