import { findCondition, type Sandbox, type SandboxClaim, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";

/** The flag that selects a namespace, for commands in messages. */
export const flagOf = (namespace: string): string => (namespace === "default" ? "" : ` -n ${namespace}`);

/** Finds a Sandbox by its name or by the name of the claim that holds it. */
export async function findSandbox({ client, namespace }: Connection, name: string): Promise<Sandbox> {
  try {
    return await client.get(sandboxes, { name, namespace });
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
  const missing = `sandbox "${name}" not found in namespace "${namespace}"; list them with: agent-sandbox get sandboxes${flagOf(namespace)}`;
  const claim = await findClaim({ client, namespace }, name);
  if (claim === undefined) throw new CommandError(missing);
  const held = claim.status?.sandbox?.name;
  if (!held) {
    const { message, reason } = findCondition(claim.status?.conditions, "Ready") ?? {};
    throw new CommandError(`claim "${name}" has no sandbox yet: ${message || reason || "it was not observed yet"}`);
  }
  try {
    return await client.get(sandboxes, { name: held, namespace });
  } catch (error) {
    throw isReason(error, "NotFound") ? new CommandError(missing, { cause: error }) : error;
  }
}

/** The name of the Sandbox that a claim holds. Undefined: there is no such claim, or it holds none. */
export async function sandboxOfClaim(connection: Connection, claim: string): Promise<string | undefined> {
  return (await findClaim(connection, claim))?.status?.sandbox?.name || undefined;
}

async function findClaim(
  { client, namespace }: Pick<Connection, "client" | "namespace">,
  name: string,
): Promise<SandboxClaim | undefined> {
  try {
    return await client.get(sandboxClaims, { name, namespace });
  } catch (error) {
    // A server without the extensions has no claims, and a user may not be allowed to read them.
    if (isReason(error, "NotFound", "Forbidden")) return undefined;
    throw error;
  }
}
