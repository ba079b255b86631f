import { randomBytes } from "node:crypto";
import {
  controllerReference,
  isControlledBy,
  runtimeTokenKey,
  type Sandbox,
  type Secret,
  sandboxes,
} from "@agent-sandbox/api";
import { type Client, isReason, KubeError, type ObjectKey } from "@agent-sandbox/kube";
import { secrets } from "../child-caches.ts";
import { tokenSecretName } from "./runtime-injection.ts";

/**
 * Creates the Secret with the token of a Sandbox's daemon, unless it exists. It is read from the API server, and only before a Pod
 * is created: a cache would hold everybody's Secrets.
 */
export async function ensureToken(client: Client, sandbox: Sandbox): Promise<void> {
  const { namespace = "" } = sandbox.metadata;
  const key = { namespace, name: tokenSecretName(sandbox) };
  if ((await findOwned(client, sandbox, key)) !== undefined) return;
  try {
    await client.create(secrets, newSecret(sandbox, key), { fieldManager: "sandbox-controller" });
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    await findOwned(client, sandbox, key);
  }
}

/** A Secret that another user created contains a token that this user knows, so it is refused. */
async function findOwned(client: Client, sandbox: Sandbox, key: ObjectKey): Promise<Secret | undefined> {
  try {
    const found = await client.get(secrets, key);
    if (isControlledBy(found, sandbox.metadata.uid)) return found;
  } catch (error) {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  }
  throw new KubeError("Forbidden", `Cannot use Secret "${key.name}": it is not controlled by this Sandbox. Delete it`);
}

function newSecret(sandbox: Sandbox, { name, namespace = "" }: ObjectKey): Secret {
  const token = randomBytes(32).toString("base64url");
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, ownerReferences: [controllerReference(sandboxes, sandbox)] },
    type: "Opaque",
    immutable: true,
    data: { [runtimeTokenKey]: Buffer.from(token).toString("base64") },
  };
}
