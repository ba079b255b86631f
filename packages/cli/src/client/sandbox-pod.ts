import { podNameAnnotation, sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";

/** A Sandbox's Pod has its name unless the Sandbox notes another. */
export async function podOf({ client, namespace }: Connection, name: string): Promise<string> {
  try {
    const found = await client.get(sandboxes, { name, namespace });
    return found.metadata.annotations?.[podNameAnnotation] || name;
  } catch (error) {
    if (isReason(error, "NotFound")) throw new CommandError(`sandbox "${name}" not found in namespace "${namespace}"`);
    throw error;
  }
}

/** The path of a part of a Pod on any API server. */
export function podPath(namespace: string, pod: string, part: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/${part}`;
}
