import type { ContainerStatus, Pod } from "@agent-sandbox/api";
import type { Connection } from "./connect.ts";
import { fetchJson } from "./discovery.ts";
import { podOf, podPath } from "./sandbox-pod.ts";

/** Says why the Pod of a Sandbox is not ready, or returns undefined if this is unknown. */
export async function podTrouble(connection: Connection, sandbox: string): Promise<string | undefined> {
  try {
    const { name: pod } = await podOf(connection, sandbox);
    return troubleOf((await fetchJson(connection.transport, podPath(connection.namespace, pod))) as Pod);
  } catch {
    return undefined;
  }
}

/** Describes the first waiting container, which is more specific than the Pod's conditions. */
export function troubleOf({ status }: Pick<Pod, "status">): string | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  for (const { name, state, lastState } of [...initContainerStatuses, ...containerStatuses]) {
    const why = state?.waiting && [state.waiting.reason, state.waiting.message, endOf(lastState)].filter(Boolean);
    if (why && why.length > 0) return `container "${name}": ${why.join(": ")}`;
  }
  return undefined;
}

function endOf(last: ContainerStatus["lastState"]): string | undefined {
  return last?.terminated && `it exited with ${last.terminated.exitCode} (${last.terminated.reason})`;
}
