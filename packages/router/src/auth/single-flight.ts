import { FairShare } from "@agent-sandbox/kube";

/** Keeps a caller that invents tokens and names from flooding the API server. */
const defaultMaxCalls = 512;

/** Runs one call per key at a time, and shares its result. The number of concurrent calls is limited. */
export class SingleFlight<A> {
  readonly #share: FairShare;
  readonly #running = new Map<string, Promise<A>>();

  constructor(maxCalls: number = defaultMaxCalls) {
    this.#share = new FairShare(maxCalls);
  }

  /**
   * Returns the result of the running call for `key`, or starts `call`. The call is not cancelled when its callers go
   * away. Each `tenant` has a share of the concurrent calls; the promise rejects if that is used up.
   */
  run(key: string, tenant: string, call: () => Promise<A>): Promise<A> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    if (!this.#share.take(tenant)) {
      return Promise.reject(new Error("Cannot call the API server: too many calls are in progress"));
    }
    const started = call().finally(() => {
      this.#running.delete(key);
      this.#share.giveBack(tenant);
    });
    this.#running.set(key, started);
    return started;
  }
}
