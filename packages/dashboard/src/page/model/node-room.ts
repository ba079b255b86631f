/** What the Pods of a node request together. Pure. */
import type { Pod } from "@agent-sandbox/api";
import { readQuantity } from "../components/format.ts";

type Resource = "cpu" | "memory";

export interface Requested {
  readonly pods: number;
  readonly cpu: number;
  readonly memory: number;
}

/** As a scheduler counts: a container without a request requests its limit. Pods that have ended request nothing. */
export function requestedBy(pods: readonly Pod[]): Requested {
  const running = pods.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  const total = (resource: Resource): number => running.reduce((sum, pod) => sum + ofPod(pod, resource), 0);
  return { pods: running.length, cpu: total("cpu"), memory: total("memory") };
}

function ofPod({ spec }: Pod, resource: Resource): number {
  const of = ({ resources }: Container): number =>
    readQuantity(resources?.requests?.[resource] ?? resources?.limits?.[resource]) ?? 0;
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const together = [...(spec?.containers ?? []), ...sidecars].reduce((sum, one) => sum + of(one), 0);
  const first = Math.max(0, ...(spec?.initContainers ?? []).map(of));
  return Math.max(together, first) + (readQuantity(spec?.overhead?.[resource]) ?? 0);
}

type Container = NonNullable<NonNullable<Pod["spec"]>["containers"]>[number];
