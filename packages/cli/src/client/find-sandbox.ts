import { type Sandbox, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";

/** The flag that selects a namespace, for commands in messages. */
const flagOf = (namespace: string): string => (namespace === "default" ? "" : ` -n ${namespace}`);

/** Finds a Sandbox by its name or by the name of the claim that holds it. */
export async function findSandbox({ client, namespace }: Connection, name: string): Promise<Sandbox> {
  try {
    return await client.get(sandboxes, { name, namespace });
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
  const missing = `sandbox "${name}" not found in namespace "${namespace}"; list them with: agent-sandbox get sandboxes${flagOf(namespace)}`;
  try {
    const claim = await client.get(sandboxClaims, { name, namespace });
    const held = claim.status?.sandbox?.name;
    if (held === undefined)
      throw new CommandError(`claim "${name}" has no sandbox yet: agent-sandbox describe ${name} shows why`);
    return await client.get(sandboxes, { name: held, namespace });
  } catch (error) {
    // A server without the extensions has no claims, and a user may not be allowed to read them.
    if (isReason(error, "NotFound") || isReason(error, "Forbidden")) throw new CommandError(missing, { cause: error });
    throw error;
  }
}
