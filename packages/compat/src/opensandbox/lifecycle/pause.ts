import { activityChange, type Sandbox } from "@agent-sandbox/api";
import { annotationOf, timeoutAnnotation } from "../../cluster/compat-annotations.ts";
import { patchSandbox, setDeadline } from "../../cluster/lifetime.ts";
import type { Machine } from "../../cluster/machine.ts";
import { requireMachine } from "../../control/require-machine.ts";
import { sendJson } from "../../http/reply.ts";
import { invalidState } from "../failure.ts";
import type { LifecycleCall } from "./context.ts";
import { type State, statusOf } from "./state.ts";

/** `POST /v1/sandboxes/{id}/pause`. Answers at once. Files, processes and memory are kept, without a limit in time. */
export async function pause(call: LifecycleCall): Promise<void> {
  const { client } = call.account;
  const machine = await requireState(call, "Running");
  await patchSandbox(client, machine.sandbox, {
    spec: {
      operatingMode: "Suspended",
      resumePolicy: "Manual",
      suspendPolicy: { depth: "Memory", fallback: "Allow" },
    },
  });
  await setDeadline(client, machine, undefined);
  sendJson(call.response, 202, {});
}

/** `POST /v1/sandboxes/{id}/resume`. Answers at once. The sandbox runs as long as after its creation. */
export async function resume(call: LifecycleCall): Promise<void> {
  const { account, context } = call;
  const machine = await requireState(call, "Paused");
  const seconds = Number(annotationOf(machine.claim ?? machine.sandbox, timeoutAnnotation));
  // The deadline is there before the sandbox runs.
  if (seconds > 0) await setDeadline(account.client, machine, new Date(context.now() + seconds * 1000));
  const { annotations } = activityChange(machine.sandbox, context.now()).body.metadata;
  await patchSandbox(account.client, machine.sandbox, {
    metadata: { annotations },
    spec: { operatingMode: "Running" },
  });
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
