import { describeTrouble, oneLine, type Pod, type PodTrouble, podTroubleOf } from "@agent-sandbox/api";
import type { Connection } from "./connect.ts";
import { fetchJson } from "./discovery.ts";
import { type ListedEvent, listEvents } from "./events.ts";
import { podOf, podPath } from "./sandbox-pod.ts";

/**
 * Says why the Pod of a Sandbox is not ready, or returns undefined if this is unknown. It does not depend on the Sandbox's
 * conditions: those of the reference implementation do not contain it.
 */
export async function podTrouble(connection: Connection, sandbox: string): Promise<PodTrouble | undefined> {
  try {
    const { name } = await podOf(connection, sandbox);
    const pod = (await fetchJson(connection.transport, podPath(connection.namespace, name))) as Pod;
    const trouble = podTroubleOf(pod);
    if (trouble !== undefined || pod.status?.phase !== "Pending") return trouble;
    return troubleInEvents(await listEvents(connection, [name]), name);
  } catch {
    return undefined;
  }
}

/** The last warning about a Pod: the kubelet reports volumes that it cannot mount in events only. */
export function troubleInEvents(events: readonly ListedEvent[], pod: string): PodTrouble | undefined {
  const last = events.findLast(({ type, object }) => type === "Warning" && object === `pod/${pod}`);
  if (last === undefined) return undefined;
  return { reason: last.reason, cause: oneLine(last.reason), detail: last.message, isFault: true };
}

/** Why a Pod is not ready, in one sentence. */
export function troubleOf(pod: Pick<Pod, "spec" | "status">): string | undefined {
  const trouble = podTroubleOf(pod);
  return trouble && describeTrouble(trouble);
}

/** Adds the trouble to a text that does not contain it yet. */
export function explainedBy(text: string, trouble: PodTrouble | undefined): string {
  return trouble === undefined || text.includes(trouble.cause) ? text : `${text}; ${describeTrouble(trouble)}`;
}
