import { sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import type { Directory } from "../cluster/directory.ts";
import { sendEmpty } from "../http/reply.ts";
import { noSuchSandbox, requireMachine } from "./require-machine.ts";
import type { ApiCall } from "./route.ts";

const seenMs = 5000;

type Call = ApiCall<{ readonly directory: Directory }>;

/** `DELETE /sandboxes/{id}` of every control API. */
export async function kill(call: Call): Promise<void> {
  const { client } = call.account;
  const machine = await requireMachine(call);
  const { claim, sandbox, namespace, name } = machine;
  const uid = (claim ?? sandbox)?.metadata.uid ?? "";
  try {
    const options = { preconditions: { uid } };
    if (claim === undefined) await client.delete(sandboxes, { namespace, name }, options);
    else await client.delete(sandboxClaims, { namespace, name }, options);
  } catch (error) {
    // Somebody else was faster.
    if (isReason(error, "NotFound", "Conflict")) throw noSuchSandbox(name);
    throw error;
  }
  // The next request must not reach the sandbox through a cache that does not know yet.
  await call.context.directory.untilGone(machine, AbortSignal.timeout(seenMs)).catch(() => undefined);
  sendEmpty(call.response, 204);
}
