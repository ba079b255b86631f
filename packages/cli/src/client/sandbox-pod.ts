import { podNameAnnotation, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";

/** A Sandbox's Pod has its name unless the Sandbox notes another. One that sleeps has none, and that is told. */
export async function podOf({ client, namespace }: Connection, name: string): Promise<string> {
  try {
    const found = await client.get(sandboxes, { name, namespace });
    const asleep = whyAsleep(found);
    if (asleep !== undefined) throw new CommandError(`sandbox "${name}" is suspended: ${asleep}`);
    return found.metadata.annotations?.[podNameAnnotation] || name;
  } catch (error) {
    if (isReason(error, "NotFound")) throw new CommandError(`sandbox "${name}" not found in namespace "${namespace}"`);
    throw error;
  }
}

/** What brings a Sandbox back that is suspended, or undefined. */
export function whyAsleep({ spec, status }: Pick<Sandbox, "spec" | "status">): string | undefined {
  if (spec.operatingMode === "Suspended") return "set its spec.operatingMode to Running";
  const suspended = status?.conditions?.find(({ type }) => type === "Suspended");
  if (suspended?.status !== "True" || suspended.reason !== "Idle") return undefined;
  return "it was idle, and comes back when it is asked for something through the router";
}

/** The path of a part of a Pod on any API server; of the Pod itself without one. */
export function podPath(namespace: string, pod: string, part?: string): string {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
  return part === undefined ? path : `${path}/${part}`;
}
