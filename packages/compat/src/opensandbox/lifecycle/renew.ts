import { parseTime } from "@agent-sandbox/api";
import { deadlineOf, setDeadline } from "../../cluster/lifetime.ts";
import { requireMachine } from "../../control/require-machine.ts";
import { textField } from "../../http/fields.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { invalidParameter, invalidState } from "../failure.ts";
import { type LifecycleCall, maxLifecycleBytes } from "./context.ts";
import { statusOf } from "./state.ts";

/** `POST /v1/sandboxes/{id}/renew-expiration`: moves the deadline to a later time. */
export async function renew(call: LifecycleCall): Promise<void> {
  const { account, context, request } = call;
  const body = await readJsonObject(request, maxLifecycleBytes);
  const time = parseTime(textField(body, "expiresAt") ?? "");
  if ("error" in time) throw invalidParameter("expiresAt must be a time in RFC 3339");
  if (time.epochMs <= context.now()) throw invalidParameter("expiresAt must be in the future");
  const machine = await requireMachine(call);
  const { state } = statusOf(machine);
  if (state === "Paused" || state === "Pausing") {
    throw invalidState(`Sandbox ${machine.name} is ${state}: it has no deadline until it is resumed`);
  }
  const current = deadlineOf(machine);
  if (current !== undefined && time.epochMs < Date.parse(current)) {
    throw invalidState(`expiresAt is before the present deadline ${current}`);
  }
  const deadline = new Date(time.epochMs);
  await setDeadline(account.client, machine, deadline);
  sendJson(call.response, 200, { expiresAt: deadline.toISOString() });
}
