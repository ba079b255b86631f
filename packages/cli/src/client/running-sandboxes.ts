import { type Pod, podNameAnnotation, type Sandbox } from "@agent-sandbox/api";
import { describeRuntime, type Kernels, runtimeOf } from "./pod-runtimes.ts";

export interface RunningSandbox {
  readonly namespace: string;
  readonly name: string;
  readonly runtime: string;
}

/** Lists the Sandboxes with a running Pod and their runtimes, sorted by namespace and name. */
export function runningSandboxes(sandboxes: readonly Sandbox[], pods: readonly Pod[]): readonly RunningSandbox[] {
  const runtimes = new Map(pods.map((pod) => [`${pod.metadata?.namespace}/${pod.metadata?.name}`, runtimeOf(pod)]));
  return sandboxes
    .flatMap(({ metadata: { namespace = "", name = "", annotations } }): RunningSandbox[] => {
      const runtime = runtimes.get(`${namespace}/${annotations?.[podNameAnnotation] || name}`);
      return runtime === undefined ? [] : [{ namespace, name, runtime }];
    })
    .toSorted((a, b) => a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name));
}

/** Counts Sandboxes by runtime, as in `3 gvisor, 1 runc (shared kernel)`. */
export function countRuntimes(running: readonly RunningSandbox[], kernels: Kernels): string {
  const counts = Map.groupBy(running, ({ runtime }) => runtime);
  const texts = [...counts].map(([runtime, some]) => `${some.length} ${describeRuntime(runtime, kernels)}`);
  return texts.length === 0 ? "no running sandboxes" : texts.toSorted().join(", ");
}
