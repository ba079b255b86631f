import type { Lease } from "@agent-sandbox/api";
import type { Client } from "../client.ts";
import { isReason, KubeError } from "../errors.ts";
import type { Scheduler } from "../queue/scheduler.ts";
import type { ObjectKey } from "../resource.ts";
import { type Candidate, claimed, LeaseObserver, leases, released } from "./lease-record.ts";

/** `held`: the lease is ours, as of the moment before the request was sent. `failed`: nobody knows, ask again. */
export type Attempt =
  | { readonly type: "held"; readonly since: number }
  | { readonly type: "other"; readonly holder: string }
  | { readonly type: "failed"; readonly error: unknown };

export interface LeaseKeeperOptions {
  readonly client: Client;
  readonly lease: Required<ObjectKey>;
  readonly candidate: Candidate;
  readonly scheduler: Scheduler;
}

/** Reads and writes the Lease object for one candidate. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #observer = new LeaseObserver();
  /** Whether the lease on the server may differ from the one last seen. */
  #isDoubtful = true;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** Takes the lease when it is free or run out, renews it when it is ours. */
  async take(signal: AbortSignal): Promise<Attempt> {
    const { candidate, scheduler } = this.#options;
    const since = scheduler.now();
    try {
      if (this.#isDoubtful || this.#holder !== candidate.identity) await this.#look(signal);
      if (this.#observer.isHeldByOther(candidate.identity, scheduler.now()))
        return { type: "other", holder: this.#holder };
      await this.#write(claimed(candidate, this.#observer.lease?.spec, scheduler.date()), signal);
      return { type: "held", since };
    } catch (error) {
      return { type: "failed", error };
    }
  }

  /** Renews what is ours. Unlike a candidate, a leader that finds another name in the lease, alive or not, has lost it. */
  async renew(signal: AbortSignal): Promise<Attempt> {
    const doubt = this.#isDoubtful ? await this.#checkHolder(signal) : undefined;
    if (doubt !== undefined) return doubt;
    const attempt = await this.take(signal);
    // A conflict means that someone wrote the lease: who it was decides, and there is no time to lose.
    const isContested = attempt.type === "failed" && isReason(attempt.error, "Conflict", "AlreadyExists");
    return (isContested ? await this.#checkHolder(signal) : undefined) ?? attempt;
  }

  /** Undefined when nobody else holds the lease. */
  async #checkHolder(signal: AbortSignal): Promise<Attempt | undefined> {
    try {
      await this.#look(signal);
    } catch (error) {
      return { type: "failed", error };
    }
    const holder = this.#holder;
    return holder === "" || holder === this.#options.candidate.identity ? undefined : { type: "other", holder };
  }

  /** Lets go of the lease, if it is still ours. */
  async release(signal: AbortSignal): Promise<void> {
    if (this.#isDoubtful) await this.#look(signal);
    const spec = this.#observer.lease?.spec;
    if (spec === undefined || this.#holder !== this.#options.candidate.identity) return;
    await this.#write(released(spec, this.#options.scheduler.date()), signal);
  }

  get #holder(): string {
    return this.#observer.lease?.spec?.holderIdentity ?? "";
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { client, lease, scheduler } = this.#options;
    try {
      this.#observer.observe(await client.get(leases, lease, { signal }), scheduler.now());
    } catch (error) {
      if (!isReason(error, "NotFound")) throw error;
      this.#observer.forget();
    }
    this.#isDoubtful = false;
  }

  /** A version mismatch is a Conflict: of two candidates that take a free lease, one wins. */
  async #write(spec: NonNullable<Lease["spec"]>, signal: AbortSignal): Promise<void> {
    const { client, lease, scheduler } = this.#options;
    const old = this.#observer.lease;
    this.#isDoubtful = true;
    const written =
      old === undefined
        ? await client.create(leases, { metadata: { ...lease }, spec }, { signal })
        : await client.update(leases, { ...old, spec }, { signal });
    if (written.metadata?.resourceVersion === undefined) {
      throw new KubeError("InvalidResponse", `Cannot write lease "${lease.name}": the answer has no version`);
    }
    this.#observer.observe(written, scheduler.now());
    this.#isDoubtful = false;
  }
}
