import { type Client, isReason, type KubeObject, type Resource } from "@agent-sandbox/kube";

export interface RuntimeClass extends KubeObject {
  readonly handler: string;
}

export const runtimeClasses: Resource<RuntimeClass> = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
};

const mark = { "app.kubernetes.io/managed-by": "agent-sandbox-node" };

/**
 * Makes the RuntimeClasses of the API tell what works on this machine: those that are missing are created, and of those
 * this node has created the ones whose runtime is gone are deleted. What others have written is left alone.
 */
export async function syncRuntimeClasses(client: Client, names: readonly string[]): Promise<void> {
  const { items } = await client.list(runtimeClasses);
  const existing = new Set(items.map(({ metadata }) => metadata?.name ?? ""));
  for (const name of names) {
    if (existing.has(name)) continue;
    const { apiVersion, kind } = runtimeClasses;
    const wanted: RuntimeClass = { apiVersion, kind, metadata: { name, labels: mark }, handler: name };
    await client.create(runtimeClasses, wanted).catch(unless("AlreadyExists"));
  }
  for (const { metadata } of items) {
    const { name = "", uid = "", labels = {} } = metadata ?? {};
    const isOurs = Object.entries(mark).every(([key, value]) => labels[key] === value);
    if (!isOurs || names.includes(name)) continue;
    await client.delete(runtimeClasses, { name }, { preconditions: { uid } }).catch(unless("NotFound", "Conflict"));
  }
}

function unless(...reasons: Parameters<typeof isReason>[1][]): (error: unknown) => undefined {
  return (error) => {
    if (!isReason(error, ...reasons)) throw error;
  };
}
