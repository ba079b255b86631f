import { type Client, Informers, KubeError, type Leadership, type Logger } from "@agent-sandbox/kube";
import { fillCaches } from "../fill-caches.ts";
import type { ControllersOptions } from "../start-controllers.ts";

/** Lets writes pass only while this process leads, for clients that are made before it does. */
export class LateLeadership implements Pick<Leadership, "assertLeading"> {
  #leadership: Pick<Leadership, "assertLeading"> | undefined;

  begin(leadership: Pick<Leadership, "assertLeading">): void {
    this.#leadership = leadership;
  }

  assertLeading(action: string): void {
    if (this.#leadership === undefined)
      throw new KubeError("Unreachable", `Cannot ${action}: this process does not lead yet`);
    this.#leadership.assertLeading(action);
  }
}

export interface StandbyOptions {
  readonly client: Client;
  readonly log: Logger;
  /** What each set of controllers reads. */
  readonly scopes: readonly Pick<ControllersOptions, "namespace" | "extensions" | "onlyLabelledChildren">[];
}

/** About half a minute. A leader that renews slowly is silent again and again, and each time all objects would be listed. */
export const keptObservations = 75;

/**
 * The caches of a replica that waits for the lease. They are filled only while the leader is silent: caches that are kept for hours would need
 * as much memory as the leader's, and could be too old to lead with.
 */
export class Standby implements AsyncDisposable {
  readonly #options: StandbyOptions;
  #filling: readonly Informers[] | undefined;
  /** Observations since the leader was silent. */
  #heard = 0;
  #closing: Promise<unknown> = Promise.resolve();

  constructor(options: StandbyOptions) {
    this.#options = options;
  }

  /** Call it once for each attempt to acquire the lease while another process leads. */
  observe(leaderIsSilent: boolean): void {
    const { client, log, scopes } = this.#options;
    this.#heard = leaderIsSilent ? 0 : this.#heard + 1;
    if (this.#heard >= keptObservations) this.#close();
    if (!leaderIsSilent) return;
    if (this.#filling === undefined) {
      log.info({}, "leader silent, filling caches");
      this.#filling = scopes.map((scope) => {
        const informers = new Informers({ client, log });
        fillCaches(informers, scope);
        return informers;
      });
    }
  }

  /** The caches, one for each scope. The caller closes them. Empty if the leader was not silent. */
  take(): readonly Informers[] {
    const filled = this.#filling ?? [];
    this.#filling = undefined;
    return filled;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await this.#closing;
  }

  #close(): void {
    const closing = this.take().map((informers) => informers[Symbol.asyncDispose]());
    if (closing.length > 0) this.#closing = Promise.all([this.#closing, ...closing]);
  }
}
