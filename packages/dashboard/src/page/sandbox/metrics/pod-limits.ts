import type { PodSpec } from "@agent-sandbox/api";
import { readQuantity } from "../../components/format.ts";

export interface Limits {
  /** In cores. Undefined: nothing limits it, or not every container. */
  readonly cpu: number | undefined;
  /** In bytes. */
  readonly memory: number | undefined;
}

type Resource = "cpu" | "memory";
/** The limits of the Pod itself are of Kubernetes 1.34. */
type Spec = Pick<PodSpec, "containers" | "initContainers"> & { readonly resources?: Container["resources"] };
type Container = NonNullable<PodSpec["containers"]>[number];

/**
 * What a Pod may use: its own limit, or that of its containers together. Init containers that restart run beside the others; the rest
 * have ended.
 */
export function podLimits(spec: Spec | undefined): Limits {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const containers = [...(spec?.containers ?? []), ...sidecars];
  const limit = (resource: Resource): number | undefined =>
    readQuantity(spec?.resources?.limits?.[resource]) ??
    sum(containers.map(({ resources }) => readQuantity(resources?.limits?.[resource])));
  return { cpu: limit("cpu"), memory: limit("memory") };
}

/** Undefined without values, or if one is not known. */
function sum(values: readonly (number | undefined)[]): number | undefined {
  if (values.length === 0) return undefined;
  return values.reduce((all, one) => (all === undefined || one === undefined ? undefined : all + one), 0);
}
