import { setTimeout as sleep } from "node:timers/promises";
import { claim, pool, template } from "./manifests.ts";
import type { Manifest, Namespace } from "./namespace.ts";

/** What a user sees after claims were made while something failed. */
export interface Aftermath {
  /** The claims that are Ready, with the names of their Sandboxes. */
  readonly bound: readonly string[];
  /** Sandboxes and Pods in the namespace, pool members included. */
  readonly sandboxes: number;
  readonly pods: number;
}

const poolSize = 2;

/** Makes claims one after the other while `fault` runs, and waits until each is Ready and the pool is full again. */
export async function claimsDuring(
  namespace: Namespace,
  count: number,
  fault: () => Promise<void>,
): Promise<Aftermath> {
  await namespace.apply(template("pool"), pool("pool", { replicas: poolSize }));
  await namespace.wait("sandboxwarmpool/pool", `jsonpath={.status.readyReplicas}=${poolSize}`);
  const names = Array.from({ length: count }, (_, n) => `during-${n}`);
  const failing = fault();
  for (const name of names) {
    await applyUntilStored(namespace, claim(name, "pool"));
    await sleep(300);
  }
  await failing;
  // Watches of kubectl end with the API server that they began on.
  const isReady = '{.status.conditions[?(@.type=="Ready")].status}';
  for (const name of names) {
    const state = async (): Promise<string> =>
      (await namespace.try("get", "sandboxclaim", name, "-o", `jsonpath=${isReady}`)).stdout;
    await namespace.until(state, (status) => status === "True");
  }
  const listed = async (kind: string, ...words: string[]): Promise<string[]> =>
    (await namespace.kubectl("get", kind, ...words, "-o", "name")).split("\n").filter(Boolean);
  const ready = (): Promise<string> => namespace.field("sandboxwarmpool/pool", "{.status.readyReplicas}");
  await namespace.until(ready, (replicas) => replicas === String(poolSize));
  const bound = await Promise.all(
    names.map((name) => namespace.field(`sandboxclaim/${name}`, "{.status.sandbox.name}")),
  );
  // The last claim may have taken a member that the status still counts, and deleted members may still be ending.
  const sandboxes = await namespace.until(
    () => listed("sandboxes"),
    ({ length }) => length === count + poolSize,
  );
  const pods = await namespace.until(
    () => listed("pods"),
    ({ length }) => length === count + poolSize,
  );
  return { bound, sandboxes: sandboxes.length, pods: pods.length };
}

/** A user repeats a request that fails because the API server is away. */
async function applyUntilStored(namespace: Namespace, object: Manifest): Promise<void> {
  await namespace.until(
    () =>
      namespace.apply(object).then(
        () => true,
        () => false,
      ),
    (isStored) => isStored,
  );
}

/** Each claim has a Sandbox of its own, and nothing else exists but the members of the pool. */
export const complete = (count: number): object => ({
  distinct: count,
  sandboxes: count + poolSize,
  pods: count + poolSize,
});

export const summary = ({ bound, sandboxes, pods }: Aftermath): object => ({
  distinct: new Set(bound).size,
  sandboxes,
  pods,
});
