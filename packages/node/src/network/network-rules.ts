import type { NetworkPolicy, Pod, Service } from "@agent-sandbox/api";
import {
  type Client,
  type Informer,
  Informers,
  type Logger,
  type Scheduler,
  systemScheduler,
} from "@agent-sandbox/kube";
import type { Layout } from "../layout.ts";
import { namespaces, networkPolicies, pods, services } from "../resources.ts";
import { firewall } from "./firewall.ts";
import { addressesOf } from "./names.ts";
import type { PodNetwork } from "./pod-network.ts";
import { policiesOf } from "./policy.ts";
import { doorsOf, type ServingPod } from "./services.ts";
import { servingPods } from "./serving-pods.ts";

export interface NetworkRulesOptions {
  readonly client: Client;
  readonly network: PodNetwork;
  readonly layout: Layout;
  readonly nodeName: string;
  readonly log: Logger;
  readonly scheduler?: Scheduler;
}

const retryMs = 1000;

interface Caches {
  readonly pods: Informer<Pod>;
  readonly services: Informer<Service>;
  readonly policies: Informer<NetworkPolicy>;
  readonly namespaces: Informer;
}

/** Keeps the firewall as the Pods, Services and NetworkPolicies of the API say, and knows their names. */
export class NetworkRules implements AsyncDisposable {
  readonly #options: NetworkRulesOptions;
  readonly #caches: Caches;
  readonly #owned = new AsyncDisposableStack();
  #enforced = "";
  #working: Promise<void> | undefined;
  #isStale = false;
  #timer: Disposable | undefined;
  /** Settles when the rules have been those of the API for the first time. */
  readonly ready: Promise<void>;

  constructor(options: NetworkRulesOptions) {
    this.#options = options;
    const { client, log, network, nodeName } = options;
    const informers = this.#owned.use(new Informers({ client, log }));
    this.#caches = {
      pods: informers.get(pods, { fieldSelector: `spec.nodeName=${nodeName}` }),
      services: informers.get(services),
      policies: informers.get(networkPolicies),
      namespaces: informers.get(namespaces),
    };
    const all: readonly Informer[] = Object.values(this.#caches);
    for (const cache of all) this.#owned.use(cache.subscribe(() => void this.#renew()));
    network.onAttached = () => void this.#renew();
    this.ready = Promise.all(all.map(({ synced }) => synced)).then(() => this.#renew());
    // Who waits for it is told; nobody has to.
    this.ready.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.network.onAttached = () => undefined;
    this.#timer?.[Symbol.dispose]();
    await this.#owned.disposeAsync();
    await this.#working;
  }

  /** See `addressesOf`. */
  lookUp(name: string): readonly string[] | undefined {
    return addressesOf(name, { pods: this.#pods(), services: this.#caches.services.list() });
  }

  /** One at a time; what changes meanwhile is done right after, all of it together. */
  #renew(): Promise<void> {
    this.#isStale = true;
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  async #work(): Promise<void> {
    const { log, scheduler = systemScheduler, network } = this.#options;
    while (this.#isStale && Object.values(this.#caches).every(({ hasSynced }) => hasSynced)) {
      this.#isStale = false;
      const rules = this.#rules();
      if (rules === this.#enforced) continue;
      try {
        await network.enforce(rules);
        this.#enforced = rules;
      } catch (error) {
        log.warn({ err: error }, "network rules could not be renewed");
        this.#timer?.[Symbol.dispose]();
        this.#timer = scheduler.schedule(retryMs, () => void this.#renew());
        return;
      }
    }
  }

  #rules(): string {
    const { policies, services: all, namespaces: spaces } = this.#caches;
    const networked = this.#pods();
    const labels = new Map(spaces.list().map(({ metadata }) => [metadata?.name ?? "", metadata?.labels ?? {}]));
    return firewall(this.#options.network.place, {
      policies: policiesOf({ pods: networked, policies: policies.list(), namespaces: labels }),
      doors: doorsOf(all.list(), networked),
    });
  }

  #pods(): ServingPod[] {
    const { network, layout } = this.#options;
    return servingPods(this.#caches.pods.list(), (uid) => network.attached.get(`${layout.netnsPrefix}${uid}`));
  }
}
