import { podNameAnnotation, type Sandbox } from "@agent-sandbox/api";
import { readQuantity } from "../components/format.ts";
import type { PodMetrics, Usage } from "../data/resources.ts";

/** CPU in cores, memory in bytes. */
export interface Measured {
  readonly cpu: number;
  readonly memory: number;
}

export function measured({ cpu, memory }: Usage): Measured {
  return { cpu: readQuantity(cpu) ?? 0, memory: readQuantity(memory) ?? 0 };
}

export function measuredPod({ containers }: PodMetrics): Measured {
  return containers
    .map(({ usage }) => measured(usage))
    .reduce((sum, one) => ({ cpu: sum.cpu + one.cpu, memory: sum.memory + one.memory }), { cpu: 0, memory: 0 });
}

/** The key of the metrics of a sandbox's Pod. */
export function podKeyOf({ metadata }: Sandbox): string {
  return `${metadata.namespace ?? ""}/${metadata.annotations?.[podNameAnnotation] || metadata.name}`;
}
