import type { Lease } from "@agent-sandbox/api";
import type { Resource } from "../resource.ts";
import { microTime } from "./micro-time.ts";

export const leases: Resource<Lease> = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};

type LeaseSpec = NonNullable<Lease["spec"]>;

export interface Candidate {
  readonly identity: string;
  readonly leaseDurationMs: number;
}

/** The spec to acquire the lease, or to renew it if the candidate already holds it. */
export function claimed(candidate: Candidate, old: LeaseSpec | undefined, dateMs: number): LeaseSpec {
  const isRenewal = old?.holderIdentity === candidate.identity;
  const now = microTime(dateMs);
  return {
    holderIdentity: candidate.identity,
    leaseDurationSeconds: Math.max(1, Math.ceil(candidate.leaseDurationMs / 1000)),
    acquireTime: isRenewal ? (old.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: old === undefined ? 0 : (old.leaseTransitions ?? 0) + (isRenewal ? 0 : 1),
  };
}

/** The spec to release the lease: no holder, and expired after a second for clients that check only the times. */
export function released(old: LeaseSpec, dateMs: number): LeaseSpec {
  const now = microTime(dateMs);
  return { ...old, holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
}

/** The latest renewal of a lease that this process observed, by its own clock. */
export interface Renewal {
  readonly observedAt: number;
  /** From then on anybody may acquire the lease, unless another renewal is observed. */
  readonly expiresAt: number;
}

/**
 * Decides whether another candidate holds the lease. The times in the lease come from another machine's clock, so they are
 * only compared with each other: a lease is valid for its duration after this process last observed a change.
 */
export class LeaseObserver {
  /** The latest lease, and when it was first observed with these times. */
  #seen: { readonly lease: Lease; readonly at: number } | undefined;

  get lease(): Lease | undefined {
    return this.#seen?.lease;
  }

  observe(lease: Lease, now: number): void {
    const seen = this.#seen;
    const isNews = seen === undefined || signature(seen.lease) !== signature(lease);
    this.#seen = { lease, at: isNews ? now : seen.at };
  }

  get renewal(): Renewal {
    const observedAt = this.#seen?.at ?? 0;
    return { observedAt, expiresAt: observedAt + (this.#seen?.lease.spec?.leaseDurationSeconds ?? 0) * 1000 };
  }

  forget(): void {
    this.#seen = undefined;
  }

  isHeldByOther(identity: string, now: number): boolean {
    const { holderIdentity = "" } = this.#seen?.lease.spec ?? {};
    if (this.#seen === undefined || holderIdentity === "" || holderIdentity === identity) return false;
    return now < this.renewal.expiresAt;
  }
}

/** The fields that a renewal changes. Other changes, such as labels, do not extend the lease. */
function signature({ spec }: Lease): string {
  return JSON.stringify([spec?.holderIdentity, spec?.acquireTime, spec?.renewTime, spec?.leaseTransitions]);
}
