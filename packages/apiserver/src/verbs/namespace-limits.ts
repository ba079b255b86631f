import { getHeapStatistics } from "node:v8";
import { type ErrorSubject, forbidden } from "../api-error.ts";
import { type Identity, isSuperuser, nodesGroup } from "../auth/identity.ts";
import type { UsageCheck } from "../store/store.ts";

/** How much namespaces may store. */
export interface NamespaceLimits {
  /** Objects of all kinds in one namespace. Default: 50,000. */
  readonly objects: number;
  /** Characters of JSON in one namespace. Default: a quarter of `totalBytes`. */
  readonly bytes: number;
  /** Characters of JSON in all namespaces together. Default: an eighth of the heap. */
  readonly totalBytes: number;
}

/**
 * The store is in memory: all namespaces together get an eighth of the heap, and one of them a quarter of that. With the
 * 4 GiB that Node takes on a machine with 16 GiB, this is 512 MiB and 128 MiB. An ordinary Pod takes 4 KiB.
 */
export function defaultNamespaceLimits(): NamespaceLimits {
  const totalBytes = Math.floor(getHeapStatistics().heap_size_limit / 8);
  return { objects: 50_000, bytes: Math.floor(totalBytes / 4), totalBytes };
}

/**
 * The limits that apply to a write. Administrators have none. The box's own components have none for objects that exist,
 * because a full namespace must not stop them from writing status.
 */
export function limitsFor(
  limits: NamespaceLimits,
  identity: Identity,
  { creates }: { readonly creates: boolean },
): NamespaceLimits | undefined {
  if (isSuperuser(identity)) return undefined;
  return creates || !isBoxPart(identity) ? limits : undefined;
}

const systemAccounts = "system:serviceaccounts:agent-sandbox-system";

const isBoxPart = ({ groups }: Identity): boolean => groups.includes(nodesGroup) || groups.includes(systemAccounts);

/** Refuses writes that would exceed the limits of the namespace. A write that makes an object smaller is never refused. */
export function usageCheck(limits: NamespaceLimits | undefined, subject: ErrorSubject): UsageCheck | undefined {
  if (limits === undefined) return undefined;
  return ({ before, after, totalBytes }) => {
    if (after.objects > before.objects && after.objects > limits.objects) {
      throw exceeded(subject, `the namespace holds ${before.objects} objects of ${limits.objects}`);
    }
    if (after.bytes <= before.bytes) return;
    const added = `${after.bytes - before.bytes} bytes requested`;
    if (after.bytes > limits.bytes) {
      throw exceeded(subject, `${added}, the namespace holds ${before.bytes} of ${limits.bytes}`);
    }
    if (totalBytes > limits.totalBytes) {
      throw exceeded(subject, `${added}, all namespaces together may hold ${limits.totalBytes}`);
    }
  };
}

const exceeded = (subject: ErrorSubject, why: string): Error => forbidden(subject, `exceeded quota: ${why}`);
