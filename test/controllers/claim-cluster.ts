import {
  claimFirstReadyAtAnnotation,
  findCondition,
  isConditionTrue,
  type Pod,
  type Sandbox,
  type SandboxClaim,
  type SandboxTemplate,
  type SandboxWarmPool,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import {
  podCache,
  startClaimController,
  startSandboxController,
  startTemplateController,
  startWarmPoolController,
} from "@agent-sandbox/controllers";
import {
  type Client,
  ControllerPriority,
  controllerOf,
  createClient,
  Fence,
  type Informer,
  Informers,
  type KubeObject,
  keyOf,
  type Resource,
  type Transport,
  type WatchEvent,
} from "@agent-sandbox/kube";
import { Ledger } from "../../packages/controllers/src/claim/ledger.test.support.ts";
import type { ClaimServer } from "./claim-servers.ts";
import { startPodFaker } from "./pod-faker.ts";

export const namespace = "default";
const apiVersion = "extensions.agents.x-k8s.io/v1beta1";
const configMaps: Resource = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };

/** An API server with Pods on a node or fake ones, and the four controllers, which can be stopped and restarted. */
export class ClaimCluster implements AsyncDisposable {
  readonly client: Client;
  readonly ledger: Ledger = new Ledger();
  /** The controllers' writes, such as `POST sandboxes`. */
  readonly writes: Map<string, number> = new Map();
  /** The controllers' writes to existing objects, by name. A Pod has the name of its Sandbox. */
  readonly writesOn: Map<string, number> = new Map();
  /** Reconciles of the claim controller. */
  passes = 0;
  /** The delay of each batch of watch events to the controllers. */
  watchDelayMs: () => number = () => 0;
  readonly #server: ClaimServer;
  readonly #cleanup = new AsyncDisposableStack();
  readonly #claims: Informer<SandboxClaim>;
  readonly #sandboxes: Informer<Sandbox>;
  readonly #pods: Informer<Pod>;
  readonly #pools: Informer<SandboxWarmPool>;
  #controllers = new AsyncDisposableStack();
  #onPass: (() => void) | undefined;

  constructor(server: ClaimServer, { startMs = 0 }: { readonly startMs?: number } = {}) {
    this.#server = server;
    this.client = createClient(server.admin);
    const informers = this.#cleanup.use(new Informers({ client: this.client }));
    this.#claims = informers.get(sandboxClaims);
    this.#sandboxes = informers.get(sandboxes);
    this.#pods = podCache(informers);
    this.#pools = informers.get(sandboxWarmPools);
    if (server.image === undefined) {
      this.#cleanup.use(startPodFaker({ client: this.client, informers, startMs: () => startMs }));
    }
    this.#record(this.#claims);
    this.#record(this.#sandboxes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controllers.disposeAsync();
    await this.#cleanup.disposeAsync();
  }

  get #image(): string {
    return this.#server.image ?? "host";
  }

  async startControllers(): Promise<void> {
    const client = createClient(this.#watched(this.#server.controllers));
    const informers = this.#controllers.use(new Informers({ client }));
    const fence = this.#controllers.use(new Fence({ informers }));
    const shared = { informers, fence, priority: new ControllerPriority() };
    const metrics = { reconciled: () => this.#passed() };
    const started = [
      startTemplateController(shared),
      startSandboxController({ ...shared, workers: 50 }),
      startWarmPoolController(shared),
      startClaimController({ ...shared, metrics }),
    ];
    for (const controller of started) this.#controllers.use(controller);
    await Promise.all(started.map(({ ready }) => ready));
  }

  async stopControllers(): Promise<void> {
    await this.#controllers.disposeAsync();
    this.#controllers = new AsyncDisposableStack();
  }

  /** A pool of Pods that sleep, with a template of the same name. */
  async createPool(name: string, replicas: number, more: Partial<SandboxWarmPool["spec"]> = {}): Promise<void> {
    await this.createTemplate(name);
    const spec = { replicas, sandboxTemplateRef: { name }, ...more };
    await this.client.create(sandboxWarmPools, {
      apiVersion,
      kind: "SandboxWarmPool",
      metadata: { name, namespace },
      spec,
    });
  }

  async createTemplate(name: string, more: Partial<SandboxTemplate["spec"]> = {}): Promise<void> {
    const spec = { podTemplate: { spec: this.podSpec() }, ...more };
    await this.client.create(sandboxTemplates, {
      apiVersion,
      kind: "SandboxTemplate",
      metadata: { name, namespace },
      spec,
    });
  }

  /** A Pod that sleeps, with these environment variables. */
  podSpec(env: Readonly<Record<string, string>> = {}): NonNullable<Pod["spec"]> {
    const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
    return { containers: [{ name: "c", image: this.#image, ...(variables.length > 0 && { env: variables }) }] };
  }

  createClaim(name: string, pool: string, more: Partial<SandboxClaim["spec"]> = {}): Promise<SandboxClaim> {
    return this.client.create(sandboxClaims, {
      apiVersion,
      kind: "SandboxClaim",
      metadata: { name, namespace },
      spec: { warmPoolRef: { name: pool }, ...more },
    });
  }

  async editClaim(name: string, spec: Partial<SandboxClaim["spec"]>): Promise<void> {
    await this.client.patch(sandboxClaims, { namespace, name }, { type: "merge", body: { spec } });
  }

  /** Resolves when the garbage collector has processed all changes of Sandboxes so far, which a later object proves. */
  async collectorSeesSandboxes(): Promise<void> {
    const owner = await this.client.create(configMaps, { metadata: { generateName: "owner-", namespace } });
    const { name = "", uid = "" } = owner.metadata ?? {};
    await this.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name, namespace, ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name, uid }] },
      spec: { operatingMode: "Suspended", podTemplate: { spec: this.podSpec() } },
    });
    await this.until(() => this.sandbox(name) !== undefined);
    await this.client.delete(configMaps, { namespace, name });
    await this.until(() => this.sandbox(name) === undefined);
  }

  claim(name: string): SandboxClaim | undefined {
    return this.#claims.get(keyOf({ namespace, name }));
  }

  sandbox(name: string): Sandbox | undefined {
    return this.#sandboxes.get(keyOf({ namespace, name }));
  }

  pool(name: string): SandboxWarmPool | undefined {
    return this.#pools.get(keyOf({ namespace, name }));
  }

  pod(name: string): Pod | undefined {
    return this.#pods.get(keyOf({ namespace, name }));
  }

  /** Ready, unclaimed members of all pools, or of one. */
  readyMembers(pool?: string): number {
    const isReady = ({ status }: Sandbox): boolean => isConditionTrue(status?.conditions, "Ready");
    return this.members(pool).filter(isReady).length;
  }

  /** Unclaimed members that are not being deleted. */
  members(pool?: string): Sandbox[] {
    return this.#sandboxes.list().filter((sandbox) => {
      const owner = controllerOf(sandbox);
      const isMember = owner?.kind === "SandboxWarmPool" && owner.name === (pool ?? owner.name);
      return isMember && sandbox.metadata.deletionTimestamp === undefined;
    });
  }

  readyClaims(): number {
    return this.#claims.list().filter(({ status }) => isConditionTrue(status?.conditions, "Ready")).length;
  }

  counts(): { claims: number; sandboxes: number; pods: number } {
    // A real cluster has Pods of others in other namespaces.
    const pods = this.#pods.list().filter(({ metadata }) => metadata?.namespace === namespace).length;
    return { claims: this.#claims.size, sandboxes: this.#sandboxes.size, pods };
  }

  /** Whether all claims are Ready, the pool is full and the controllers have nothing left to write. */
  isSettled(pool: string): boolean {
    const { status, spec } = this.pool(pool) ?? {};
    const isCurrent = ({ metadata, status: of }: Sandbox): boolean =>
      findCondition(of?.conditions, "Ready")?.observedGeneration === metadata.generation;
    const marked = this.#pods.list().filter(({ metadata }) => metadata?.labels?.[warmPoolSandboxLabel] !== undefined);
    const isServed = ({ metadata, status: of }: SandboxClaim): boolean =>
      metadata.annotations?.[claimFirstReadyAtAnnotation] !== undefined && isConditionTrue(of?.conditions, "Ready");
    return (
      status?.readyReplicas === spec?.replicas &&
      this.#claims.list().every(isServed) &&
      marked.length === this.readyMembers() &&
      this.#sandboxes.list().every(isCurrent)
    );
  }

  /** Resolves when the condition holds. It is checked after each change on the server. */
  async until(condition: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (condition()) resolve();
    };
    using subscriptions = new DisposableStack();
    for (const informer of [this.#claims, this.#sandboxes, this.#pods, this.#pools]) {
      subscriptions.use((informer as Informer).subscribe(look));
    }
    look();
    await promise;
  }

  /** Resolves after this number of claim reconciles. */
  async untilPasses(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onPass = () => {
      if (this.passes >= count) resolve();
    };
    this.#onPass();
    await promise;
  }

  #passed(): void {
    this.passes += 1;
    this.#onPass?.();
  }

  #record<T extends KubeObject>(informer: Informer<T>): void {
    const { resource } = informer;
    const tell = (object: T | undefined, gone: boolean): void => {
      if (object !== undefined) this.ledger.read({ resource, object, gone });
    };
    this.#cleanup.use(
      informer.subscribe(({ deltas }) => {
        for (const delta of deltas) tell(delta.new ?? delta.old, delta.new === undefined);
      }),
    );
  }

  #watched(transport: Transport): Transport {
    return {
      send: (request) => {
        if (request.method !== "GET") this.#count(request);
        return transport.send(request);
      },
      stream: async (request) => {
        const response = await transport.stream(request);
        return response.events === undefined ? response : { ...response, events: this.#late(response.events) };
      },
      close: () => Promise.resolve(),
    };
  }

  async *#late(events: AsyncIterable<readonly WatchEvent[]>): AsyncGenerator<readonly WatchEvent[], void, undefined> {
    for await (const batch of events) {
      const delay = this.watchDelayMs();
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      yield batch;
    }
  }

  #count({ method, path }: { readonly method: string; readonly path: string }): void {
    // `/apis/group/version/namespaces/ns/plural/name/status`, or `/api/version/namespaces/...` for the core group.
    const words = (path.split("?")[0] ?? "").split("/").slice(path.startsWith("/apis/") ? 6 : 5);
    const [plural = "", name, subresource] = words;
    increment(this.writes, `${method} ${subresource === undefined ? plural : `${plural}/${subresource}`}`);
    if (name !== undefined) increment(this.writesOn, name);
  }
}

function increment(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}
