import type { ContainerStatus, Pod } from "@agent-sandbox/api";
import type { Connection } from "./connect.ts";
import { fetchJson } from "./discovery.ts";
import { podOf, podPath } from "./sandbox-pod.ts";

/** What keeps the Pod of a Sandbox from being ready, as far as anybody knows; nothing when it cannot be asked. */
export async function podTrouble(connection: Connection, sandbox: string): Promise<string | undefined> {
  try {
    const pod = await podOf(connection, sandbox);
    return troubleOf((await fetchJson(connection.transport, podPath(connection.namespace, pod))) as Pod);
  } catch {
    return undefined;
  }
}

/** The first container that does not run says more than the Pod does. */
export function troubleOf({ status }: Pick<Pod, "status">): string | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  for (const { name, state, lastState } of [...initContainerStatuses, ...containerStatuses]) {
    const why = state?.waiting && [state.waiting.reason, state.waiting.message, endOf(lastState)].filter(Boolean);
    if (why && why.length > 0) return `container "${name}": ${why.join(": ")}`;
  }
  return undefined;
}

function endOf(last: ContainerStatus["lastState"]): string | undefined {
  return last?.terminated && `it ended with ${last.terminated.exitCode} (${last.terminated.reason})`;
}
