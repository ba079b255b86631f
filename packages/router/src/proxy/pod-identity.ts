import type { Pod } from "@agent-sandbox/api";
import { type Client, isReason } from "@agent-sandbox/kube";
import { pods } from "../cluster/resources.ts";
import { addressesOf, isAlive, type Target } from "../cluster/target.ts";
import { RouterError } from "../router-error.ts";

/** One read of a pod may take this long. */
const readLimitMs = 3000;

/**
 * Says whether an address belongs to a pod at this moment, by asking the API server and not the cache: an address is
 * given to another pod long before a slow watch tells. A read counts only for those who asked before it was sent, so any
 * number of askers costs at most two reads at a time for each pod.
 */
export class PodIdentity {
  readonly #client: Client;
  /** Not sent yet: whoever asks may join. */
  readonly #next = new Map<string, Promise<Pod | undefined>>();
  readonly #last = new Map<string, Promise<void>>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Throws `Unverified` when the API server cannot be asked. */
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
      return await this.#client.get(pods, { namespace, name }, { signal: AbortSignal.timeout(readLimitMs) });
    } catch (error) {
      if (isReason(error, "NotFound")) return undefined;
      throw error;
    }
  }
}
