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

/** The spec with which the candidate takes the lease, or renews it when it holds it already. */
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

/** The spec with which a holder lets go: free at once, and soon expired for those who only look at the times. */
export function released(old: LeaseSpec, dateMs: number): LeaseSpec {
  const now = microTime(dateMs);
  return { ...old, holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
}

/**
 * Judges whether someone else holds the lease. The times in the lease come from another machine's clock, so they are
 * only compared with themselves: a lease is alive for its duration after this process last saw it change.
 */
export class LeaseObserver {
  /** The lease as it is now, and when it was first seen with these times. */
  #seen: { readonly lease: Lease; readonly at: number } | undefined;

  get lease(): Lease | undefined {
    return this.#seen?.lease;
  }

  observe(lease: Lease, now: number): void {
    const seen = this.#seen;
    const isNews = seen === undefined || signature(seen.lease) !== signature(lease);
    this.#seen = { lease, at: isNews ? now : seen.at };
  }

  forget(): void {
    this.#seen = undefined;
  }

  isHeldByOther(identity: string, now: number): boolean {
    const { holderIdentity = "", leaseDurationSeconds = 0 } = this.#seen?.lease.spec ?? {};
    if (this.#seen === undefined || holderIdentity === "" || holderIdentity === identity) return false;
    return now < this.#seen.at + leaseDurationSeconds * 1000;
  }
}

/** What a renewal changes. Others may label the object without keeping its holder alive. */
function signature({ spec }: Lease): string {
  return JSON.stringify([spec?.holderIdentity, spec?.acquireTime, spec?.renewTime, spec?.leaseTransitions]);
}
