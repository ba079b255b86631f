import { isDeepStrictEqual } from "node:util";
import { type ApiObject, isJsonObject, type JsonObject, stringAt, valueAt } from "../api-object.ts";
import type { Interner } from "../interner.ts";
import type { Store } from "../store/store.ts";
import { type Amounts, podRequests, readAmounts } from "./pod-requests.ts";
import { type NamespacePercent, type Shortage, Usage } from "./usage.ts";

interface Held {
  readonly spec: JsonObject;
  readonly namespace: string;
  readonly requests: Amounts;
}

/**
 * The requests of the Pods on the box's only node. Follows each write when it is decided, so that two Pods cannot get the
 * same room, and keeps sums, so that the creation of a Pod does not read the others.
 */
export class Allocations {
  readonly #store: Store;
  readonly #interner: Interner;
  readonly #nodeName: string;
  readonly #percent: NamespacePercent;
  /** Bound Pods that have not ended, by their key in the store. */
  readonly #held = new Map<string, Held>();
  /** The parsed `status.allocatable` of Nodes. */
  readonly #allocatable = new WeakMap<object, Amounts>();
  #usage: Usage;
  #releases = 0;

  constructor(
    store: Store,
    { interner, nodeName, percent }: { interner: Interner; nodeName: string; percent: NamespacePercent },
  ) {
    this.#store = store;
    this.#interner = interner;
    this.#nodeName = nodeName;
    this.#percent = percent;
    this.#usage = new Usage(percent);
    this.#readAll();
    store.follow("pods", { decided: (key, pod) => this.#follow(key, pod), undone: () => this.#readAll() });
  }

  /** Increases whenever a Pod gives up its room. */
  get releases(): number {
    return this.#releases;
  }

  requestsOf(spec: JsonObject): Amounts {
    return this.#interner.memo(podRequests, spec);
  }

  /** What the node lacks for one more Pod. Empty if the Pod fits, or if the node does not report what it has. */
  shortages(namespace: string, requests: Amounts, node: ApiObject | undefined): readonly Shortage[] {
    const allocatable = this.allocatableOf(node);
    return allocatable === undefined ? [] : this.#usage.shortages(namespace, requests, allocatable);
  }

  allocatableOf(node: ApiObject | undefined): Amounts | undefined {
    const list = valueAt(node, "status", "allocatable");
    if (!isJsonObject(list)) return undefined;
    const known = this.#allocatable.get(list) ?? readAmounts(list);
    this.#allocatable.set(list, known);
    return known;
  }

  /** A copy of the sums, to plan with. */
  usage(): Usage {
    return this.#usage.copy();
  }

  #readAll(): void {
    this.#held.clear();
    this.#usage = new Usage(this.#percent);
    this.#releases += 1;
    for (const { key, object } of this.#store.list("pods")) this.#follow(key, object);
  }

  #follow(key: string, pod: ApiObject | undefined): void {
    const before = this.#held.get(key);
    const spec = pod?.["spec"];
    const holds = isJsonObject(spec) && spec["nodeName"] === this.#nodeName && !hasEnded(pod);
    // Most changes are of the status.
    if (holds && before?.spec === spec) return;
    const requests = holds ? this.requestsOf(spec) : undefined;
    if (holds && requests !== undefined) {
      const held = { spec, namespace: pod?.metadata.namespace ?? "", requests };
      this.#held.set(key, held);
      this.#usage.add(held.namespace, requests);
    } else this.#held.delete(key);
    if (before === undefined) return;
    this.#usage.remove(before.namespace, before.requests);
    if (requests === undefined || !isDeepStrictEqual(requests, before.requests)) this.#releases += 1;
  }
}

function hasEnded(pod: ApiObject | undefined): boolean {
  const phase = stringAt(pod, "status", "phase");
  return phase === "Succeeded" || phase === "Failed";
}
