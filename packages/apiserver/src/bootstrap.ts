import type { Transport } from "@agent-sandbox/kube";

/** Namespaces that every cluster has, and the one where the platform's own objects live. */
const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease", "agent-sandbox-system"];

export async function createNamespaces(transport: Transport): Promise<void> {
  await Promise.all(
    namespaces.map(async (name) => {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      const { status } = await transport.send({ method: "POST", path: "/api/v1/namespaces", body });
      if (status !== 201 && status !== 409) throw new Error(`Cannot create namespace "${name}": status ${status}`);
    }),
  );
}
