import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "@agent-sandbox/api";
import { followResource, type KubeObject, type Resource } from "@agent-sandbox/kube/requests";
import type { Connection } from "./connect.ts";
import { untilReady } from "./create-sandbox.ts";

export const pods: Resource<Pod & KubeObject> = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

/** How long only the Pod is followed. Most containers run by then. The Sandbox says why others do not. */
const aloneMs = 300;

export interface StartOptions {
  readonly timeoutMs: number;
  readonly interrupted: AbortSignal;
}

/**
 * Waits until commands can run in a new Sandbox. Its container runs before the Sandbox is ready: the node reports it as ready only
 * when it has run for a while.
 */
export async function untilRunning(
  connection: Connection,
  { name, pod }: { readonly name: string; readonly pod: string },
  { timeoutMs, interrupted }: StartOptions,
): Promise<void> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, interrupted]);
  const running = whenRunning(connection, pod, signal);
  try {
    const first = await Promise.race([running, sleep(aloneMs, "late" as const, { signal })]);
    if (first === "late")
      await Promise.race([running, untilReady(connection, name, { timeoutMs, interrupted: signal })]);
  } catch (error) {
    interrupted.throwIfAborted();
    throw error;
  } finally {
    ended.abort();
  }
}

/** Resolves when all containers of a Pod run; never if that cannot be seen, for instance because the user may not watch Pods. */
async function whenRunning({ client, namespace }: Connection, name: string, signal: AbortSignal): Promise<"running"> {
  const fieldSelector = `metadata.name=${name}`;
  const onTrouble = ({ error }: { readonly error: Error }): void => {
    throw error;
  };
  try {
    for await (const change of followResource(client, pods, { namespace, fieldSelector, signal, onTrouble })) {
      const seen = change.type === "reset" ? change.items : change.events.map(({ object }) => object);
      if (seen.some(isRunning)) return "running";
    }
  } catch {
    // The Sandbox decides.
  }
  return new Promise(() => undefined);
}

export function isRunning({ metadata, status }: Pod): boolean {
  const containers = status?.containerStatuses ?? [];
  if (metadata?.deletionTimestamp !== undefined || containers.length === 0) return false;
  return containers.every(({ state }) => state?.running !== undefined);
}
