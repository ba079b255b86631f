import type { Sandbox } from "@agent-sandbox/api";
import { annotationOf, timeoutAnnotation } from "../../cluster/compat-annotations.ts";
import type { Machine } from "../../cluster/machine.ts";
import { pauseMachine, resumeMachine } from "../../cluster/pause-machine.ts";
import { requireMachine } from "../../control/require-machine.ts";
import { sendJson } from "../../http/reply.ts";
import { invalidState } from "../failure.ts";
import type { LifecycleCall } from "./context.ts";
import { type State, statusOf } from "./state.ts";

/** `POST /v1/sandboxes/{id}/pause`. Answers at once. Files, processes and memory are kept, without a limit in time. */
export async function pause(call: LifecycleCall): Promise<void> {
  const { client } = call.account;
  const machine = await requireState(call, "Running");
  await pauseMachine(client, machine, {
    resumePolicy: "Manual",
    suspendPolicy: { depth: "Memory", fallback: "Allow" },
  });
  sendJson(call.response, 202, {});
}

/** `POST /v1/sandboxes/{id}/resume`. Answers at once. The sandbox runs as long as after its creation. */
export async function resume(call: LifecycleCall): Promise<void> {
  const { account, context } = call;
  const machine = await requireState(call, "Paused");
  const seconds = Number(annotationOf(machine.claim ?? machine.sandbox, timeoutAnnotation));
  const run = { now: context.now(), seconds: seconds > 0 ? seconds : undefined };
  const { settled } = await resumeMachine(account.client, machine, run);
  await settled;
  sendJson(call.response, 202, {});
}

async function requireState(call: LifecycleCall, wanted: State): Promise<Machine & { readonly sandbox: Sandbox }> {
  const { sandbox, ...machine } = await requireMachine(call);
  const { state } = statusOf({ ...machine, sandbox });
  if (sandbox === undefined || state !== wanted) {
    throw invalidState(`Sandbox ${machine.name} is ${state}, not ${wanted}`);
  }
  return { ...machine, sandbox };
}
