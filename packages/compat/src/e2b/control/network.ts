import { requireMachine } from "../../control/require-machine.ts";
import { flagField } from "../../http/fields.ts";
import { badRequest } from "../../http/http-error.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendEmpty } from "../../http/reply.ts";
import { type ControlCall, maxControlBytes } from "./context.ts";
import { refuseNetwork } from "./create-options.ts";

/** `PUT /sandboxes/{id}/network`. Only the absence of rules can be enforced for one sandbox. */
export async function updateNetwork(call: ControlCall): Promise<void> {
  const { allow_internet_access: _, ...network } = await readJsonObject(call.request, maxControlBytes);
  if (flagField({ allow: _ }, "allow") === false) {
    throw badRequest("allow_internet_access=false cannot be set for a sandbox that exists");
  }
  refuseNetwork(network);
  await requireMachine(call);
  sendEmpty(call.response, 204);
}
