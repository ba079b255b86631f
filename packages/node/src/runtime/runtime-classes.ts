import { type Client, isReason, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { allowedRuntimesAnnotation } from "../pod/namespace-rules.ts";
import type { Kernel } from "./shared-kernel.ts";

export interface RuntimeClass extends KubeObject {
  readonly handler: string;
}

export const runtimeClasses: Resource<RuntimeClass> = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
};

/** Says in which namespaces the runtime is allowed, for users who list the classes. The node does not read it. */
const allowedInAnnotation = "agents.x-k8s.io/allowed-in";

/** `own` if the runtime gives containers their own kernel, `shared` if they share the machine's. Absent if unknown. */
const kernelAnnotation = "agents.x-k8s.io/kernel";

export interface OfferedRuntimes {
  /** The runtimes that work on this machine. */
  readonly runtimes: readonly string[];
  /** The runtimes of Pods whose Namespace has no list of its own. */
  readonly allowedRuntimes: readonly string[];
  readonly kernels?: ReadonlyMap<string, Kernel>;
}

const mark = { "app.kubernetes.io/managed-by": "agent-sandbox-node" };

/**
 * Updates the RuntimeClasses in the API to the runtimes of this machine: creates missing classes, and deletes those that this
 * node created and whose runtime no longer works. Classes of others with another handler are not changed.
 */
export async function syncRuntimeClasses(client: Client, offered: OfferedRuntimes): Promise<void> {
  const { runtimes: names } = offered;
  const { items } = await client.list(runtimeClasses);
  const existing = new Map(items.map((item) => [item.metadata?.name ?? "", item]));
  for (const name of names) {
    const kernel = offered.kernels?.get(name);
    const annotations = {
      [allowedInAnnotation]: allowedIn(name, offered),
      ...(kernel !== undefined && { [kernelAnnotation]: kernel }),
    };
    const found = existing.get(name);
    if (found === undefined) {
      const { apiVersion, kind } = runtimeClasses;
      const wanted: RuntimeClass = { apiVersion, kind, metadata: { name, labels: mark, annotations }, handler: name };
      await client.create(runtimeClasses, wanted).catch(unless("AlreadyExists"));
    } else if (found.handler === name && !says(found, annotations)) {
      const patch = { type: "merge", body: { metadata: { annotations } } } as const;
      await client.patch(runtimeClasses, { name }, patch).catch(unless("NotFound"));
    }
  }
  for (const { metadata } of items) {
    const { name = "", uid = "", labels = {} } = metadata ?? {};
    const isOurs = Object.entries(mark).every(([key, value]) => labels[key] === value);
    if (!isOurs || names.includes(name)) continue;
    await client.delete(runtimeClasses, { name }, { preconditions: { uid } }).catch(unless("NotFound", "Conflict"));
  }
}

function says({ metadata }: RuntimeClass, annotations: Readonly<Record<string, string>>): boolean {
  return Object.entries(annotations).every(([key, value]) => metadata?.annotations?.[key] === value);
}

function allowedIn(name: string, { allowedRuntimes }: OfferedRuntimes): string {
  return allowedRuntimes.includes(name)
    ? "all namespaces without the annotation"
    : `namespaces whose annotation ${allowedRuntimesAnnotation} names it`;
}

function unless(...reasons: Parameters<typeof isReason>[1][]): (error: unknown) => undefined {
  return (error) => {
    if (!isReason(error, ...reasons)) throw error;
  };
}
