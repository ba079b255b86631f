import { setDeadline } from "../../cluster/lifetime.ts";
import { noSuchSandbox, requireBound } from "../../control/require-machine.ts";
import { integerField } from "../../http/fields.ts";
import { badRequest } from "../../http/http-error.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendEmpty } from "../../http/reply.ts";
import { type ControlCall, maxControlBytes } from "./context.ts";
import { isPaused } from "./sandbox-json.ts";
import { deadlineAfter, extendDeadline, timeoutField } from "./timeouts.ts";

/** `POST /sandboxes/{id}/timeout`: sets the deadline, also to an earlier one. */
export async function setTimeoutOf(call: ControlCall): Promise<void> {
  const { context, account, request } = call;
  const body = await readJsonObject(request, maxControlBytes);
  if (integerField(body, "timeout") === undefined) throw badRequest("timeout is required");
  const seconds = timeoutField(context, body, 0);
  const machine = await requireBound(call);
  if (isPaused(machine)) throw noSuchSandbox(machine.name);
  await setDeadline(account.client, machine, deadlineAfter(context, seconds));
  sendEmpty(call.response, 204);
}

/** Old clients refresh with a duration of at least 15 s. */
const shortestRefreshSeconds = 15;

/** `POST /sandboxes/{id}/refreshes`, of very old clients: never moves the deadline to an earlier time. */
export async function refresh(call: ControlCall): Promise<void> {
  const { context, request } = call;
  const body = await readJsonObject(request, maxControlBytes);
  const seconds = Math.max(shortestRefreshSeconds, integerField(body, "duration") ?? 0);
  const machine = await requireBound(call);
  if (isPaused(machine)) throw noSuchSandbox(machine.name);
  await extendDeadline(call, machine, timeoutField(context, { timeout: seconds }, seconds));
  sendEmpty(call.response, 204);
}
