import type { Pod } from "@agent-sandbox/api";
import { podCache, pods } from "@agent-sandbox/controllers";
import { type Client, type Informers, isReason } from "@agent-sandbox/kube";
import { persist } from "./persist.ts";

export interface PodFakerOptions {
  readonly client: Client;
  readonly informers: Informers;
  /** How long a Pod takes to start. Default 0. */
  readonly startMs?: (pod: Pod) => number;
}

/**
 * A fake node: marks a new Pod as Ready with an address after a while, in one write, and removes a terminating Pod at once. It
 * runs nothing.
 */
export function startPodFaker({ client, informers, startMs = () => 0 }: PodFakerOptions): Disposable {
  const starting = new Set<NodeJS.Timeout>();
  const stop = new AbortController();
  let made = 0;

  const start = (pod: Pod): void => {
    made += 1;
    const ip = `10.${(made >> 16) & 255}.${(made >> 8) & 255}.${made & 255}`;
    const timer = setTimeout(() => {
      starting.delete(timer);
      void report(client, pod, { ip, signal: stop.signal });
    }, startMs(pod));
    starting.add(timer);
  };
  const subscription = podCache(informers).subscribe(({ deltas }) => {
    for (const { old, new: pod } of deltas) {
      if (pod?.metadata?.deletionTimestamp !== undefined) void remove(client, pod, stop.signal);
      else if (pod !== undefined && old === undefined && pod.status?.phase !== "Running") start(pod);
    }
  });
  return {
    [Symbol.dispose]: () => {
      stop.abort();
      subscription[Symbol.dispose]();
      for (const timer of starting) clearTimeout(timer);
    },
  };
}

async function report(
  client: Client,
  { metadata }: Pod,
  { ip, signal }: { readonly ip: string; readonly signal: AbortSignal },
): Promise<void> {
  const { name = "", namespace = "", uid = "" } = metadata ?? {};
  const conditions = ["PodScheduled", "Ready"].map((type) => ({ type, status: "True" }));
  const body = { status: { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions } };
  const patch = { type: "merge", body, preconditions: { uid } } as const;
  await persist(() => client.patch(pods, { namespace, name }, patch, { subresource: "status" }), { signal }).catch(
    goneIsFine,
  );
}

async function remove(client: Client, { metadata }: Pod, signal: AbortSignal): Promise<void> {
  const { name = "", namespace = "", uid = "" } = metadata ?? {};
  const options = { gracePeriodSeconds: 0, preconditions: { uid } };
  await persist(() => client.delete(pods, { namespace, name }, options), { signal }).catch(goneIsFine);
}

function goneIsFine(error: unknown): void {
  if (!isReason(error, "NotFound", "Conflict")) throw error;
}
