import { requireMachine } from "../../control/require-machine.ts";
import { sendJson } from "../../http/reply.ts";
import { daemonToken } from "../tokens.ts";
import type { ControlCall } from "./context.ts";
import { lifecycleJson, listedSandbox } from "./sandbox-json.ts";

/** `GET /sandboxes/{id}` */
export async function info(call: ControlCall): Promise<void> {
  const { context, account } = call;
  const machine = await requireMachine(call);
  const { sandbox, namespace, name } = machine;
  const isAllowed =
    sandbox !== undefined && (await context.callers.mayConnect(account.user, namespace, sandbox.metadata.name ?? ""));
  sendJson(call.response, 200, {
    ...listedSandbox(machine),
    lifecycle: lifecycleJson(machine),
    domain: `${namespace}.${context.domain()}`,
    ...(isAllowed && { envdAccessToken: daemonToken(context.tokens, sandbox, { namespace, name }) }),
  });
}
