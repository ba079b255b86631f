import type { Pod } from "@agent-sandbox/api";
import type { Transport } from "@agent-sandbox/kube/requests";
import { fetchJson } from "./discovery.ts";

/** The value of `kernelAnnotation` by runtime name. */
export type Kernels = ReadonlyMap<string, string>;

/** The box's node sets it on each RuntimeClass to `own` or `shared`. */
const kernelAnnotation = "agents.x-k8s.io/kernel";

/** The values for users who are not allowed to list RuntimeClasses. */
const usual: Kernels = new Map([
  ["gvisor", "own"],
  ["runc", "shared"],
]);

/** In a cluster, container IDs name the container manager instead of the runtime. */
const managers: readonly string[] = ["containerd", "cri-o", "docker"];

/** The runtime of the running containers of a Pod, or undefined if none is running. */
export function runtimeOf({ spec, status }: Pod): string | undefined {
  const running = status?.containerStatuses?.find(({ state, containerID }) => state?.running && containerID);
  const [, scheme] = /^([^:]+):\/\//.exec(running?.containerID ?? "") ?? [];
  return scheme !== undefined && managers.includes(scheme) ? (spec?.runtimeClassName ?? scheme) : scheme;
}

/** The name of a runtime, marked if its containers share the kernel of the machine. */
export function describeRuntime(runtime: string, kernels: Kernels): string {
  return kernels.get(runtime) === "shared" ? `${runtime} (shared kernel)` : runtime;
}

interface RuntimeClasses {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
  }[];
}

export async function readKernels(transport: Transport): Promise<Kernels> {
  const list = await fetchJson(transport, "/apis/node.k8s.io/v1/runtimeclasses").catch(() => undefined);
  if (list === undefined) return usual;
  const known = (list as RuntimeClasses).items.map(
    ({ metadata: { name, annotations } }) => [name, annotations?.[kernelAnnotation] ?? usual.get(name) ?? ""] as const,
  );
  return new Map(known);
}

/** Lists the Pods of one namespace or of all. Returns undefined if the user is not allowed to list them. */
export async function readPods(
  transport: Transport,
  namespace: string | undefined,
): Promise<readonly Pod[] | undefined> {
  const path = namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const list = await fetchJson(transport, path).catch(() => undefined);
  return (list as { readonly items: readonly Pod[] } | undefined)?.items;
}
