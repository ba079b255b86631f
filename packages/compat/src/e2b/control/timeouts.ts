import { deadlineOf, setDeadline } from "../../cluster/lifetime.ts";
import type { Machine } from "../../cluster/machine.ts";
import { integerField } from "../../http/fields.ts";
import { badRequest } from "../../http/http-error.ts";
import type { JsonObject } from "../../http/read-body.ts";
import type { ControlCall, ControlContext } from "./context.ts";

/** Reads `timeout` in seconds. */
export function timeoutField(context: ControlContext, body: JsonObject, byDefault: number): number {
  const seconds = integerField(body, "timeout") ?? byDefault;
  checkMaximum(context, seconds);
  return seconds;
}

function checkMaximum({ maxTimeoutSeconds }: ControlContext, seconds: number): void {
  if (seconds <= maxTimeoutSeconds) return;
  const hours = Math.floor(maxTimeoutSeconds / 3600);
  throw badRequest(`Timeout cannot be greater than ${hours} hours`);
}

export const deadlineAfter = ({ now }: ControlContext, seconds: number): Date =>
  new Date(now() + Math.max(0, seconds) * 1000);

/** Moves the deadline to a later time, never to an earlier one. */
export async function extendDeadline(call: ControlCall, machine: Machine, seconds: number): Promise<void> {
  const wanted = deadlineAfter(call.context, seconds);
  const current = deadlineOf(machine);
  if (current === undefined || wanted.getTime() > Date.parse(current)) {
    await setDeadline(call.account.client, machine, wanted);
  }
}
