import type { NetworkPolicy, Pod, Service } from "@agent-sandbox/api";
import {
  type Client,
  type EventRecorder,
  type Informer,
  Informers,
  type Logger,
  objectKey,
  type Scheduler,
  systemScheduler,
} from "@agent-sandbox/kube";
import type { Layout } from "../layout.ts";
import { namespaces, networkPolicies, pods, services } from "../resources.ts";
import { reachesApiServer } from "./api-access.ts";
import { enforceRules, withoutOf } from "./enforce-rules.ts";
import type { FirewallContent } from "./firewall.ts";
import { routedServiceAddresses } from "./machine-networks.ts";
import { answerFor, type NameAccess, type NameAnswer } from "./name-access.ts";
import type { PodNetwork } from "./pod-network.ts";
import { type PodPolicy, policiesOf } from "./policy.ts";
import { type Problem, ProblemReport } from "./problem-report.ts";
import { type ServingPod, serviceAddressesOf } from "./services.ts";
import { servingPods } from "./serving-pods.ts";

export interface NetworkRulesOptions {
  readonly client: Client;
  readonly network: PodNetwork;
  readonly layout: Layout;
  readonly nodeName: string;
  readonly log: Logger;
  /** Records events for policies and Services that cannot be enforced as written. */
  readonly events: Pick<EventRecorder, "record">;
  /** The port of the API server's gateway. Default: none, and Pods cannot reach the API server. */
  readonly apiPort?: number | undefined;
  readonly scheduler?: Scheduler;
}

const retryMs = 1000;
/**
 * Changes of objects within this time are applied together. A start of `nft` takes milliseconds in this thread, in which the controllers
 * would not react to the same changes.
 */
const gatherMs = 10;
/** The interval at which the machine's routes are read. */
const routesMs = 30_000;
/** A pass that takes longer is followed by a pause of the same length, so that rules take at most half of the time. */
const longPassMs = 100;

interface Caches {
  readonly pods: Informer<Pod>;
  readonly services: Informer<Service>;
  readonly policies: Informer<NetworkPolicy>;
  readonly namespaces: Informer;
}

interface Wanted {
  readonly content: FirewallContent;
  readonly problems: readonly Problem[];
}

/** Keeps the firewall in line with the Pods, Services and NetworkPolicies of the API, and resolves their names. */
export class NetworkRules implements AsyncDisposable {
  readonly #options: NetworkRulesOptions;
  readonly #caches: Caches;
  readonly #owned = new AsyncDisposableStack();
  readonly #report: ProblemReport;
  #enforced = "";
  /** The enforced policies, by Pod address. */
  #policies: ReadonlyMap<string, PodPolicy> = new Map();
  #names: NameAccess | undefined;
  /** Namespaces whose rules `nft` refused, with those rules. Unchanged rules are not tried again. */
  #refused = new Map<string, string>();
  #working: Promise<void> | undefined;
  #isStale = false;
  #timer: Disposable | undefined;
  #routesTimer: Disposable | undefined;
  #gathering: Disposable | undefined;
  /** Not read in every pass: a machine with a hundred Pods has a hundred interfaces, and a Pod that starts causes several passes. */
  #routed: FirewallContent["routed"] | undefined;
  /** Resolves when the rules have been applied for the first time. */
  readonly ready: Promise<void>;

  constructor(options: NetworkRulesOptions) {
    this.#options = options;
    const { client, log, network, nodeName } = options;
    this.#report = new ProblemReport(options.events);
    const informers = this.#owned.use(new Informers({ client, log }));
    this.#caches = {
      pods: informers.get(pods, { fieldSelector: `spec.nodeName=${nodeName}` }),
      services: informers.get(services),
      policies: informers.get(networkPolicies),
      namespaces: informers.get(namespaces),
    };
    const all: readonly Informer[] = Object.values(this.#caches);
    for (const cache of all) this.#owned.use(cache.subscribe(() => this.#renewSoon()));
    network.onAttached = () => void this.#renew();
    this.ready = Promise.all(all.map(({ synced }) => synced)).then(() => this.#renew());
    // Callers may ignore `ready`, so its rejection must not be unhandled.
    this.ready.catch(() => undefined);
    this.#watchRoutes();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.network.onAttached = () => undefined;
    this.#timer?.[Symbol.dispose]();
    this.#routesTimer?.[Symbol.dispose]();
    this.#gathering?.[Symbol.dispose]();
    await this.#owned.disposeAsync();
    await this.#working;
  }

  /** See `answerFor`. */
  lookUp(from: string, name: string): NameAnswer {
    return answerFor(from, name, this.#access());
  }

  /** The namespace of the Pod at an address. */
  namespaceOf(address: string): string | undefined {
    return this.#access().podsAt.get(address)?.namespace;
  }

  /** The namespace of the Pod at an address, if the Pod may reach the API server. */
  namespaceOfApiClient(address: string): string | undefined {
    const policy = this.#policies.get(address);
    return policy !== undefined && reachesApiServer(policy) ? policy.namespace : undefined;
  }

  /** Computed once and used for all queries until something changes. */
  #access(): NameAccess {
    if (this.#names !== undefined) return this.#names;
    const all = this.#pods();
    this.#names = {
      pods: all,
      podsAt: new Map(all.map((pod) => [pod.address, pod])),
      services: new Map(this.#caches.services.list().map((service) => [objectKey(service), service])),
      policies: this.#policies,
      subnet: this.#options.network.place.subnet,
    };
    return this.#names;
  }

  #watchRoutes(): void {
    const { scheduler = systemScheduler } = this.#options;
    this.#routesTimer = scheduler.schedule(routesMs, () => {
      this.#routed = undefined;
      void this.#renew();
      this.#watchRoutes();
    });
  }

  #renewSoon(): void {
    const { scheduler = systemScheduler } = this.#options;
    this.#isStale = true;
    this.#names = undefined;
    this.#gathering ??= scheduler.schedule(gatherMs, () => {
      this.#gathering = undefined;
      void this.#renew();
    });
  }

  /** Runs one pass at a time. Changes during a pass are handled together in the next one. */
  #renew(): Promise<void> {
    this.#isStale = true;
    this.#names = undefined;
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  async #work(): Promise<void> {
    const { log } = this.#options;
    while (this.#isStale && Object.values(this.#caches).every(({ hasSynced }) => hasSynced)) {
      this.#isStale = false;
      const begun = performance.now();
      try {
        await this.#pass();
      } catch (error) {
        log.warn({ err: error }, "cannot apply network rules");
        this.#renewAfter(retryMs);
        return;
      }
      const took = performance.now() - begun;
      if (took > longPassMs && this.#isStale) {
        this.#renewAfter(took);
        return;
      }
    }
  }

  #renewAfter(delayMs: number): void {
    const { scheduler = systemScheduler } = this.#options;
    this.#timer?.[Symbol.dispose]();
    this.#timer = scheduler.schedule(delayMs, () => void this.#renew());
  }

  async #pass(): Promise<void> {
    const { network, log } = this.#options;
    const { content, problems } = this.#wanted();
    const known = [...this.#refused].filter(([name, text]) => network.rulesText(ownOf(content, name)) === text);
    const refused = known.map(([name]) => name);
    const tried = withoutOf(content, refused);
    const text = network.rulesText(tried);
    if (text !== this.#enforced) {
      const found = await enforceRules(tried, network);
      this.#enforced = text;
      for (const name of found) log.warn({ namespace: name }, "nft refused the network rules of a namespace");
      this.#refused = new Map(
        [...refused, ...found].map((name) => [name, network.rulesText(ownOf(content, name))] as const),
      );
      const inForce = withoutOf(tried, found).policies;
      this.#policies = new Map(inForce.map((policy) => [policy.address, policy]));
      this.#names = undefined;
    }
    this.#report.report([...problems, ...this.#refusals()]);
  }

  #wanted(): Wanted {
    const { policies, services: all, namespaces: spaces } = this.#caches;
    const { place } = this.#options.network;
    const networked = this.#pods();
    const labels = new Map(spaces.list().map(({ metadata }) => [metadata?.name ?? "", metadata?.labels ?? {}]));
    const judged = policiesOf({ pods: networked, policies: policies.list(), namespaces: labels });
    const served = serviceAddressesOf(all.list(), networked, place.subnet);
    return {
      content: {
        policies: judged.policies,
        serviceAddresses: served.serviceAddresses,
        routed: (this.#routed ??= routedServiceAddresses(place.bridge)),
        apiPort: this.#options.apiPort,
      },
      problems: [
        ...judged.problems.map(({ policy, text }) => ({ resource: networkPolicies, object: policy, text })),
        ...served.problems.map(({ service, text }) => ({ resource: services, object: service, text })),
      ],
    };
  }

  #refusals(): Problem[] {
    const text = "The firewall refused the rules of the namespace: its Pods can neither send nor receive";
    return this.#caches.policies
      .list()
      .filter(({ metadata }) => this.#refused.has(metadata?.namespace ?? ""))
      .map((object) => ({ resource: networkPolicies, object, text }));
  }

  #pods(): ServingPod[] {
    const { network, layout } = this.#options;
    return servingPods(this.#caches.pods.list(), (uid) => network.attached.get(`${layout.netnsPrefix}${uid}`));
  }
}

/** The rules of one namespace. */
function ownOf({ policies, serviceAddresses }: FirewallContent, name: string): FirewallContent {
  return {
    policies: policies.filter(({ namespace }) => namespace === name),
    serviceAddresses: serviceAddresses.filter(({ namespace }) => namespace === name),
    routed: [],
  };
}
