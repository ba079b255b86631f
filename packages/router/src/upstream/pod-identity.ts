import type { Pod } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube";
import { pods } from "../cluster/resources.ts";
import { addressesOf, isAlive, type Target } from "../cluster/target.ts";
import { RouterError } from "../router-error.ts";

const readTimeoutMs = 3000;

/**
 * Verifies that an address belongs to a pod. It reads the Pod from the API server instead of the cache, because an address
 * may be reused before a slow watch reports it. A read only answers the calls made before it was sent. So each pod has at
 * most one read in progress and one waiting, however many calls there are.
 */
export class PodIdentity {
  readonly #client: Client;
  /** Reads that were not sent yet, which further calls may share. */
  readonly #next = new Map<string, Promise<Pod | undefined>>();
  readonly #last = new Map<string, Promise<void>>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Throws `Unverified` if the API server cannot be reached. */
  async confirms(target: Target): Promise<boolean> {
    const pod = await this.#read(target).catch((cause: unknown) => {
      const message = `The address of the backend sandbox could not be verified: ${target.sandbox.metadata.name}`;
      throw new RouterError("Unverified", message, { cause, retryAfterSeconds: 1 });
    });
    return pod?.metadata?.uid === target.podUid && isAlive(pod) && addressesOf(pod).includes(target.ip);
  }

  #read(target: Target): Promise<Pod | undefined> {
    const key = `${target.namespace}/${target.podName}`;
    const joined = this.#next.get(key);
    if (joined !== undefined) return joined;
    const before = this.#last.get(key) ?? Promise.resolve();
    const pod = before.then(() => {
      this.#next.delete(key);
      return this.#get(target);
    });
    this.#next.set(key, pod);
    const forget = (): void => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    };
    const settled: Promise<void> = pod.then(forget, forget);
    this.#last.set(key, settled);
    return pod;
  }

  async #get({ namespace, podName: name }: Target): Promise<Pod | undefined> {
    try {
      return await this.#client.get(pods, { namespace, name }, { signal: AbortSignal.timeout(readTimeoutMs) });
    } catch (error) {
      if (isReason(error, "NotFound")) return undefined;
      throw error;
    }
  }
}
