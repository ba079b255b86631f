import { type Pod, podNameAnnotation } from "@agent-sandbox/api";
import type { Transport } from "@agent-sandbox/kube";
import { fetchJson, type ServedResource } from "./discovery.ts";
import type { Table } from "./table.ts";

/** By the name of a runtime: what the node of the box says about its kernel. */
export type Kernels = ReadonlyMap<string, string>;

/** Written by the node on each RuntimeClass: `own` or `shared`. */
const kernelAnnotation = "agents.x-k8s.io/kernel";

/** What users who may not read RuntimeClasses have to go by. */
const usual: Kernels = new Map([
  ["gvisor", "own"],
  ["runc", "shared"],
]);

/** In clusters the runtime is the class's business, and these run them all. */
const managers: readonly string[] = ["containerd", "cri-o", "docker"];

/** What the running containers of a Pod run with; undefined when none runs. */
export function runtimeOf({ spec, status }: Pod): string | undefined {
  const running = status?.containerStatuses?.find(({ state, containerID }) => state?.running && containerID);
  const [, scheme] = /^([^:]+):\/\//.exec(running?.containerID ?? "") ?? [];
  return scheme !== undefined && managers.includes(scheme) ? (spec?.runtimeClassName ?? scheme) : scheme;
}

/** The name of a runtime, with a mark when its containers share the kernel of the machine. */
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

/** The Pods of a namespace, or of all; undefined for users who may not list them. */
export async function readPods(
  transport: Transport,
  namespace: string | undefined,
): Promise<readonly Pod[] | undefined> {
  const path = namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const list = await fetchJson(transport, path).catch(() => undefined);
  return (list as { readonly items: readonly Pod[] } | undefined)?.items;
}

/** Whether rows of this kind have a Pod. */
export function hasRuntime({ apiVersion, plural }: Pick<ServedResource, "apiVersion" | "plural">): boolean {
  return plural === "pods" ? apiVersion === "v1" : plural === "sandboxes" && apiVersion.startsWith("agents.x-k8s.io/");
}

/** The table of Pods or Sandboxes with a last column for wide output: what each runs with. */
export function withRuntimes(table: Table, pods: readonly Pod[], kernels: Kernels): Table {
  const byName = new Map(pods.map((pod) => [`${pod.metadata?.namespace}/${pod.metadata?.name}`, pod]));
  const cellOf = ({ object }: Table["rows"][number]): string | undefined => {
    const { namespace, name, annotations } = object?.metadata ?? {};
    const pod = byName.get(`${namespace}/${annotations?.[podNameAnnotation] || name}`);
    const runtime = pod === undefined ? undefined : runtimeOf(pod);
    return runtime === undefined ? undefined : describeRuntime(runtime, kernels);
  };
  return {
    columnDefinitions: [...table.columnDefinitions, { name: "Runtime", priority: 1 }],
    rows: (table.rows ?? []).map((row) => ({ ...row, cells: [...row.cells, cellOf(row)] })),
  };
}
