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

/** Where Pods may use the runtime: for people who list the classes. The node does not read it. */
const allowedInAnnotation = "agents.x-k8s.io/allowed-in";

/** Whether containers of the runtime have a kernel of their `own` or `shared` with the machine. Absent when not known. */
const kernelAnnotation = "agents.x-k8s.io/kernel";

export interface OfferedRuntimes {
  /** What works on this machine. */
  readonly runtimes: readonly string[];
  /** Those of them that Pods may use where the Namespace does not say otherwise. */
  readonly allowedRuntimes: readonly string[];
  readonly kernels?: ReadonlyMap<string, Kernel>;
}

const mark = { "app.kubernetes.io/managed-by": "agent-sandbox-node" };

/**
 * Makes the RuntimeClasses of the API say what works on this machine and where it is allowed: those that are missing are
 * created, and of those this node has created the ones whose runtime is gone are deleted. Classes of others with another
 * handler are left alone.
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
    ? "all namespaces without an annotation of their own"
    : `namespaces whose annotation ${allowedRuntimesAnnotation} names it`;
}

function unless(...reasons: Parameters<typeof isReason>[1][]): (error: unknown) => undefined {
  return (error) => {
    if (!isReason(error, ...reasons)) throw error;
  };
}
