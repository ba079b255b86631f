import type { Transport } from "@agent-sandbox/kube";
import { ownManager } from "./verbs/write-options.ts";

/** Namespaces that every cluster has, and the one where the platform's own objects live. */
const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease", "agent-sandbox-system"];

/** Whoever has got the server finds them there, with the account that each namespace has. */
export async function createNamespaces(transport: Transport): Promise<void> {
  await Promise.all(
    namespaces.map(async (name) => {
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      await ensure(transport, "/api/v1/namespaces", namespace);
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
      await ensure(transport, `/api/v1/namespaces/${name}/serviceaccounts`, account);
    }),
  );
}

async function ensure(transport: Transport, path: string, body: object): Promise<void> {
  const { status } = await transport.send({ method: "POST", path: `${path}?fieldManager=${ownManager}`, body });
  // A namespace that is being deleted takes nothing new: it comes back with the next start.
  if (status !== 201 && status !== 409 && status !== 403) throw new Error(`Cannot create "${path}": status ${status}`);
}

/** A class for each runtime of the box's node, so that Pods can name it. */
export async function createRuntimeClasses(transport: Transport, names: readonly string[]): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      const runtimeClass = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name }, handler: name };
      await ensure(transport, "/apis/node.k8s.io/v1/runtimeclasses", runtimeClass);
    }),
  );
}
