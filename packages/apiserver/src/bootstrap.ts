import type { Transport } from "@agent-sandbox/kube";
import { ownManager } from "./verbs/write-options.ts";

/** The namespaces of every cluster, and the one of the platform's own objects. */
const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease", "agent-sandbox-system"];

/** Creates the namespaces with their default ServiceAccounts, so that they exist when the server is ready. */
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
  // 403: the namespace is being deleted. It is created again at the next start.
  if (status !== 201 && status !== 409 && status !== 403) throw new Error(`Cannot create "${path}": status ${status}`);
}

/** Creates a RuntimeClass for each runtime of the box's node. */
export async function createRuntimeClasses(transport: Transport, names: readonly string[]): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      const runtimeClass = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name }, handler: name };
      await ensure(transport, "/apis/node.k8s.io/v1/runtimeclasses", runtimeClass);
    }),
  );
}
