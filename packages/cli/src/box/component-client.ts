import type { ApiServer, Identity } from "@agent-sandbox/apiserver";
import { type Client, createClient } from "@agent-sandbox/kube";

/** Each component has its own identity, and RBAC limits what it can do. */
export function clientAs(server: ApiServer, identity: Identity): Client {
  return createClient(server.transportAs(identity), { fieldManager: "agent-sandbox" });
}
