import type { Amounts } from "./pod-requests.ts";

/** The part of the node that the Pods of one namespace may take, by resource, in percent of what other namespaces leave. */
export interface NamespacePercent {
  /** Default: 100. */
  readonly cpu: number;
  /** Default: 100. */
  readonly memory: number;
  /** Default: 100. */
  readonly "ephemeral-storage": number;
  /** Default: 50. */
  readonly pods: number;
}

/**
 * Requests protect nobody from a namespace that requests everything, as in a cluster without quotas. The number of Pods is
 * limited by default, like their addresses, because Pods without requests cost nothing to create.
 */
export const defaultNamespacePercent: NamespacePercent = { cpu: 100, memory: 100, "ephemeral-storage": 100, pods: 50 };

/** A resource of which a node has too little left for a Pod. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
  /** Whether the node has enough left, and only the namespace may not take it. */
  readonly ofNamespace: boolean;
}

/** Sums of the requests of the Pods on a node, in all and by namespace. The resource `pods` counts them. */
export class Usage {
  readonly #total = new Map<string, number>();
  readonly #namespaces = new Map<string, Map<string, number>>();
  readonly #percent: NamespacePercent;

  constructor(percent: NamespacePercent) {
    this.#percent = percent;
  }

  copy(): Usage {
    const copy = new Usage(this.#percent);
    for (const [name, sum] of this.#total) copy.#total.set(name, sum);
    for (const [name, sums] of this.#namespaces) copy.#namespaces.set(name, new Map(sums));
    return copy;
  }

  add(namespace: string, requests: Amounts): void {
    this.#change(namespace, requests, 1);
  }

  remove(namespace: string, requests: Amounts): void {
    this.#change(namespace, requests, -1);
  }

  of(resource: string): number {
    return this.#total.get(resource) ?? 0;
  }

  /** What a node with these resources lacks for one more Pod; empty if the Pod fits. */
  shortages(namespace: string, requests: Amounts, allocatable: Amounts): Shortage[] {
    const found: Shortage[] = [];
    const check = (resource: string, requested: number): void => {
      const used = this.of(resource);
      const capacity = allocatable.get(resource) ?? 0;
      const own = this.#namespaces.get(namespace)?.get(resource) ?? 0;
      const percent = this.#percent[resource as keyof NamespacePercent] ?? 100;
      const ownCapacity = Math.max(1, Math.floor(((capacity - (used - own)) * percent) / 100));
      const exceeds = used + requested > capacity;
      if (!exceeds && own + requested <= ownCapacity) return;
      found.push(
        exceeds
          ? { resource, requested, used, capacity, ofNamespace: false }
          : { resource, requested, used: own, capacity: ownCapacity, ofNamespace: true },
      );
    };
    check("pods", 1);
    for (const [resource, requested] of requests) check(resource, requested);
    return found;
  }

  #change(namespace: string, requests: Amounts, sign: 1 | -1): void {
    const own = this.#namespaces.get(namespace) ?? new Map<string, number>();
    const pods = (own.get("pods") ?? 0) + sign;
    if (pods > 0) this.#namespaces.set(namespace, own);
    else this.#namespaces.delete(namespace);
    for (const sums of [this.#total, own]) {
      sums.set("pods", (sums.get("pods") ?? 0) + sign);
      for (const [name, amount] of requests) {
        const sum = (sums.get(name) ?? 0) + sign * amount;
        // Names that no Pod uses any more are dropped, because tenants choose them.
        if (sum > 0) sums.set(name, sum);
        else sums.delete(name);
      }
    }
  }
}
