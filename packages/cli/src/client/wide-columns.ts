import { findCondition, type Pod, podNameAnnotation, type Sandbox, whyNotReady } from "@agent-sandbox/api";
import type { ServedResource } from "./discovery.ts";
import { describeRuntime, type Kernels, runtimeOf } from "./pod-runtimes.ts";
import { whyAsleep } from "./sandbox-pod.ts";
import type { Table } from "./table.ts";

type Row = Table["rows"][number];

/** What the columns of wide output need besides the table. */
export interface WideSources {
  /** Undefined if the user is not allowed to list Pods. */
  readonly pods: readonly Pod[] | undefined;
  readonly kernels: Kernels;
}

export function isSandboxes({ apiVersion, plural }: Pick<ServedResource, "apiVersion" | "plural">): boolean {
  return plural === "sandboxes" && apiVersion.startsWith("agents.x-k8s.io/");
}

/** Whether objects of this resource run in a Pod. */
export function hasRuntime(resource: Pick<ServedResource, "apiVersion" | "plural">): boolean {
  return isSandboxes(resource) || (resource.plural === "pods" && resource.apiVersion === "v1");
}

/** Adds the columns of wide output: RUNTIME to Pods, and RUNTIME, DEPTH and WHY to Sandboxes, whose rows have the whole objects. */
export function widen(
  table: Table,
  resource: Pick<ServedResource, "apiVersion" | "plural">,
  { pods, kernels }: WideSources,
): Table {
  if (!hasRuntime(resource)) return table;
  const byName = new Map(pods?.map((pod) => [`${pod.metadata?.namespace}/${pod.metadata?.name}`, pod]));
  const podOf = ({ object }: Row): Pod | undefined => {
    const { namespace, name, annotations } = object?.metadata ?? {};
    return byName.get(`${namespace}/${annotations?.[podNameAnnotation] || name}`);
  };
  const added = [
    ...(pods === undefined ? [] : [{ name: "Runtime", cellOf: (row: Row) => runtimeCell(podOf(row), kernels) }]),
    ...(isSandboxes(resource)
      ? [
          { name: "Depth", cellOf: ({ object }: Row) => depthOf(object as Sandbox) },
          { name: "Why", cellOf: (row: Row) => whyOf(row.object as Sandbox, podOf(row)) },
        ]
      : []),
  ];
  return {
    columnDefinitions: [...table.columnDefinitions, ...added.map(({ name }) => ({ name, priority: 1 }))],
    rows: (table.rows ?? []).map((row) => ({
      ...row,
      cells: [...row.cells, ...added.map(({ cellOf }) => cellOf(row))],
    })),
  };
}

function runtimeCell(pod: Pod | undefined, kernels: Kernels): string | undefined {
  const runtime = pod === undefined ? undefined : runtimeOf(pod);
  return runtime === undefined ? undefined : describeRuntime(runtime, kernels);
}

/** What a sandbox that is asleep has kept, otherwise what its policy wants to keep. */
function depthOf(sandbox: Sandbox): string {
  const kept = whyAsleep(sandbox) === undefined ? undefined : sandbox.status?.suspension?.depth;
  return kept ?? sandbox.spec?.suspendPolicy?.depth ?? "<default>";
}

/** Why it is not ready, or runs something else than its spec says. */
function whyOf(sandbox: Sandbox, pod: Pod | undefined): string | undefined {
  const outdated = findCondition(sandbox.status?.conditions, "PodOutdated");
  return (
    whyAsleep(sandbox) ?? whyNotReady(sandbox, pod) ?? (outdated?.status === "True" ? outdated.message : undefined)
  );
}
