import type { Lease } from "@agent-sandbox/api";
import type { Client } from "../client.ts";
import { isReason, KubeError } from "../errors.ts";
import type { Scheduler } from "../queue/scheduler.ts";
import type { ObjectKey } from "../resource.ts";
import { type Candidate, claimed, LeaseObserver, leases, type Renewal, released } from "./lease-record.ts";

/** `held`: this candidate holds the lease since before the request was sent. `failed`: unknown, try again. */
export type Attempt =
  | { readonly type: "held"; readonly since: number }
  | { readonly type: "other"; readonly holder: string; readonly renewal: Renewal }
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
  /** Whether the lease on the server may differ from the last one observed. */
  #isStale = true;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** Acquires the lease if it is free or expired, or renews it. */
  async take(signal: AbortSignal): Promise<Attempt> {
    const { candidate, scheduler } = this.#options;
    const since = scheduler.now();
    try {
      if (this.#isStale || this.#holder !== candidate.identity) await this.#read(signal);
      if (this.#observer.isHeldByOther(candidate.identity, scheduler.now()))
        return { type: "other", holder: this.#holder, renewal: this.#observer.renewal };
      await this.#write(claimed(candidate, this.#observer.lease?.spec, scheduler.date()), signal);
      return { type: "held", since };
    } catch (error) {
      return { type: "failed", error };
    }
  }

  /** Renews the lease. A leader that finds another holder has lost it, even if that holder's lease has expired. */
  async renew(signal: AbortSignal): Promise<Attempt> {
    const lost = this.#isStale ? await this.#checkHolder(signal) : undefined;
    if (lost !== undefined) return lost;
    const attempt = await this.take(signal);
    // After a conflict somebody else wrote the lease: check at once who holds it.
    const isContested = attempt.type === "failed" && isReason(attempt.error, "Conflict", "AlreadyExists");
    return (isContested ? await this.#checkHolder(signal) : undefined) ?? attempt;
  }

  /** Undefined if nobody else holds the lease. */
  async #checkHolder(signal: AbortSignal): Promise<Attempt | undefined> {
    try {
      await this.#read(signal);
    } catch (error) {
      return { type: "failed", error };
    }
    const holder = this.#holder;
    const isOther = holder !== "" && holder !== this.#options.candidate.identity;
    return isOther ? { type: "other", holder, renewal: this.#observer.renewal } : undefined;
  }

  /** Releases the lease if this candidate still holds it. */
  async release(signal: AbortSignal): Promise<void> {
    if (this.#isStale) await this.#read(signal);
    const spec = this.#observer.lease?.spec;
    if (spec === undefined || this.#holder !== this.#options.candidate.identity) return;
    await this.#write(released(spec, this.#options.scheduler.date()), signal);
  }

  get #holder(): string {
    return this.#observer.lease?.spec?.holderIdentity ?? "";
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, lease, scheduler } = this.#options;
    try {
      this.#observer.observe(await client.get(leases, lease, { signal }), scheduler.now());
    } catch (error) {
      if (!isReason(error, "NotFound")) throw error;
      this.#observer.forget();
    }
    this.#isStale = false;
  }

  /** Writes with the observed version: of two candidates that acquire a free lease, one gets a conflict. */
  async #write(spec: NonNullable<Lease["spec"]>, signal: AbortSignal): Promise<void> {
    const { client, lease, scheduler } = this.#options;
    const old = this.#observer.lease;
    this.#isStale = true;
    const written =
      old === undefined
        ? await client.create(leases, { metadata: { ...lease }, spec }, { signal })
        : await client.update(leases, { ...old, spec }, { signal });
    if (written.metadata?.resourceVersion === undefined) {
      throw new KubeError("InvalidResponse", `Cannot write lease "${lease.name}": the response has no version`);
    }
    this.#observer.observe(written, scheduler.now());
    this.#isStale = false;
  }
}
