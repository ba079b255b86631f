import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  claimFirstReadyAtAnnotation,
  isConditionTrue,
  type Pod,
  type Sandbox,
  type SandboxClaim,
  safeToEvictAnnotation,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import { createApiServer } from "@agent-sandbox/apiserver";
import { podCache } from "@agent-sandbox/controllers";
import {
  type Client,
  controllerOf,
  createClient,
  type Informer,
  Informers,
  type KubeObject,
  type Transport,
} from "@agent-sandbox/kube";
import { Ledger } from "../../packages/controllers/src/claim/ledger.test.support.ts";
import { persist } from "./persist.ts";
import { startPodFaker } from "./pod-faker.ts";
import { StormProxy } from "./storm-proxy.ts";

/** The API server of a storm, with a transport of its administrator. */
export interface StormServer extends AsyncDisposable {
  readonly transport: Transport;
  /** The image of Pods on a server with a real node. Without it a fake node runs them. */
  readonly image?: string;
}

interface StormOptions {
  readonly startServer?: () => Promise<StormServer>;
  /** The size of each pool. */
  readonly replicas?: number;
}

export const startEmbeddedStorm = (): Promise<StormServer> =>
  createApiServer({ nodeName: "node-1", freezeObjects: true });

const namespace = "default";
const apiVersion = "extensions.agents.x-k8s.io/v1beta1";
const pools = ["a", "b"];

interface StormParts {
  readonly proxy: StormProxy;
  readonly random: () => number;
  readonly replicas: number;
  readonly hasNode: boolean;
}

/** An API server with Pods on a node or fake ones, a proxy for managers, and simulated users of claims. */
export class StormWorld implements AsyncDisposable {
  readonly ledger: Ledger = new Ledger();
  readonly proxy: StormProxy;
  readonly kubeconfig: string;
  readonly #owned: AsyncDisposableStack;
  readonly #client: Client;
  readonly #claims: Informer<SandboxClaim>;
  readonly #sandboxes: Informer<Sandbox>;
  readonly #pods: Informer<Pod>;
  readonly #random: () => number;
  readonly #replicas: number;
  readonly #kept = new Set<string>();
  readonly #lives = new EventEmitter<{ begun: [] }>();
  #made = 0;

  private constructor(owned: AsyncDisposableStack, client: Client, { proxy, random, replicas, hasNode }: StormParts) {
    this.#owned = owned;
    this.#client = client;
    this.proxy = proxy;
    this.#random = random;
    this.#replicas = replicas;
    const folder = owned.adopt(mkdtempSync(join(tmpdir(), "storm-")), (path) => rmSync(path, { recursive: true }));
    this.kubeconfig = join(folder, "kubeconfig");
    proxy.writeKubeconfig(this.kubeconfig);
    const informers = owned.use(new Informers({ client }));
    this.#claims = informers.get(sandboxClaims);
    this.#sandboxes = informers.get(sandboxes);
    this.#pods = podCache(informers);
    if (!hasNode) owned.use(startPodFaker({ client, informers, startMs: () => random() * 50 }));
    this.#record(this.#claims);
    this.#record(this.#sandboxes);
  }

  static async open(
    random: () => number,
    { startServer = startEmbeddedStorm, replicas = 10 }: StormOptions = {},
  ): Promise<StormWorld> {
    await using undo = new AsyncDisposableStack();
    const server = undo.use(await startServer());
    const proxy = undo.use(await StormProxy.open(server.transport, random));
    const client = createClient(server.transport);
    for (const name of pools) {
      const metadata = { name, namespace };
      const podTemplate = { spec: { containers: [{ name: "c", image: server.image ?? "host" }] } };
      await client.create(sandboxTemplates, { apiVersion, kind: "SandboxTemplate", metadata, spec: { podTemplate } });
      const spec = { replicas, sandboxTemplateRef: { name } };
      await client.create(sandboxWarmPools, { apiVersion, kind: "SandboxWarmPool", metadata, spec });
    }
    return new StormWorld(undo.move(), client, { proxy, random, replicas, hasNode: server.image !== undefined });
  }

  /** Creates, suspends, resumes and deletes claims, with a limited number of concurrent users. */
  async live(claims: number, people: number): Promise<void> {
    const person = async (): Promise<void> => {
      while (this.#made < claims) {
        this.#made += 1;
        this.#lives.emit("begun");
        await this.#liveOne(`claim-${this.#made}`);
      }
    };
    await Promise.all(Array.from({ length: people }, person));
  }

  /** Resolves when this number of claims has been created. */
  async begun(lives: number): Promise<void> {
    while (this.#made < lives) await once(this.#lives, "begun");
  }

  async #liveOne(name: string): Promise<void> {
    const pool = pools[Math.floor(this.#random() * pools.length)] ?? "";
    const [isHasty, sleeps, isResumed, isKept] = [0.1, 0.3, 0.7, 0.5].map((share) => this.#random() < share);
    await this.#create(name, pool);
    if (isHasty === true) return this.#remove(name);
    const sandbox = await this.#bound(name);
    if (sleeps === true) {
      await this.#suspend(sandbox);
      if (isResumed !== true) return this.#remove(name);
      await this.#resume(sandbox);
    }
    if (isKept === true) this.#kept.add(name);
    else await this.#remove(name);
  }

  /** Creates and deletes one claim, starting and ending in a settled state. */
  async liveAlone(name: string, { sleeps }: { readonly sleeps: boolean }): Promise<void> {
    await this.#create(name, pools[0] ?? "");
    const sandbox = await this.#bound(name);
    if (sleeps) {
      await this.#suspend(sandbox);
      await this.#resume(sandbox);
      await this.#until(this.#claims, name, isReady);
    }
    await this.#remove(name);
    await this.settled();
  }

  /** Resolves when only the remaining claims and full pools exist. Rejects after `withinMs`. */
  async settled({ withinMs }: { readonly withinMs?: number } = {}): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      const isWhole =
        this.#claims.size === this.#kept.size &&
        this.#claims.list().every(isReady) &&
        this.#sandboxes.size === this.#kept.size + pools.length * this.#replicas &&
        this.#sandboxes.list().every(isReady) &&
        this.#podList().length === this.#sandboxes.size;
      // The counts alone can match by chance: one member is missing while a Sandbox is not collected yet.
      if (isWhole && this.#leftovers().length === 0) resolve();
    };
    using _subscriptions = this.#onChange(look);
    const late = (): void => {
      const counts = `${this.#claims.size} claims, ${this.#sandboxes.size} Sandboxes, ${this.#podList().length} Pods`;
      reject(new Error(`Cannot settle within ${withinMs} ms: ${counts}; ${this.#leftovers().join("; ")}`));
    };
    const timer = withinMs === undefined ? undefined : setTimeout(late, withinMs);
    look();
    await promise.finally(() => clearTimeout(timer));
  }

  /** Descriptions of everything that went wrong, during the test and in the final state. */
  problems(): string[] {
    return [...this.ledger.broken, ...this.#leftovers()];
  }

  #leftovers(): string[] {
    const owners = this.#sandboxes.list().map((sandbox) => ({ sandbox, owner: controllerOf(sandbox) }));
    const problems: string[] = [];
    for (const { metadata, status } of this.#claims.list()) {
      const own = owners.filter(({ owner }) => owner?.uid === metadata.uid);
      const [bound] = own;
      if (own.length !== 1) problems.push(`${metadata.name} has ${own.length} Sandboxes`);
      if (bound?.sandbox.metadata.name !== status?.sandbox?.name)
        problems.push(`${metadata.name} shows another Sandbox`);
      if (metadata.annotations?.[claimFirstReadyAtAnnotation] === undefined)
        problems.push(`${metadata.name} does not say when it was Ready`);
    }
    for (const name of pools) {
      const members = owners.filter(({ owner }) => owner?.kind === "SandboxWarmPool" && owner.name === name).length;
      if (members !== this.#replicas) problems.push(`pool ${name} has ${members} members`);
    }
    const alive = new Map(owners.map(({ sandbox, owner }) => [sandbox.metadata.uid, owner?.kind]));
    for (const pod of this.#podList()) {
      const { metadata } = pod;
      const owner = controllerOf(pod);
      const isMember = alive.get(owner?.uid) === "SandboxWarmPool";
      if (owner === undefined || !alive.delete(owner.uid)) problems.push(`${metadata?.name} is a Pod too many`);
      else if (markOf(metadata) !== isMember) problems.push(`${metadata?.name} is marked as what it is not`);
    }
    return problems;
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#owned.disposeAsync();
  }

  /** A real cluster has Pods of others in other namespaces. */
  #podList(): Pod[] {
    return this.#pods.list().filter(({ metadata }) => metadata?.namespace === namespace);
  }

  async #create(name: string, pool: string): Promise<void> {
    const spec = { warmPoolRef: { name: pool } };
    const claim = { apiVersion, kind: "SandboxClaim", metadata: { name, namespace }, spec } as const;
    await persist(() => this.#client.create(sandboxClaims, claim), { done: ["AlreadyExists"] });
  }

  /** The Sandbox of the claim, if the claim is Ready. */
  async #bound(name: string): Promise<string> {
    const { status } = await this.#until(this.#claims, name, isReady);
    return status?.sandbox?.name ?? "";
  }

  async #suspend(sandbox: string): Promise<void> {
    await this.#setMode(sandbox, "Suspended");
    await this.#until(this.#sandboxes, sandbox, (it) => isConditionTrue(it.status?.conditions, "Suspended"));
  }

  async #resume(sandbox: string): Promise<void> {
    await this.#setMode(sandbox, "Running");
    await this.#until(this.#sandboxes, sandbox, isReady);
  }

  async #setMode(name: string, operatingMode: "Running" | "Suspended"): Promise<void> {
    const patch = { type: "merge", body: { spec: { operatingMode } } } as const;
    await persist(() => this.#client.patch(sandboxes, { namespace, name }, patch));
  }

  async #remove(name: string): Promise<void> {
    await persist(() => this.#client.delete(sandboxClaims, { namespace, name }), { done: ["NotFound"] });
  }

  async #until<T extends KubeObject>(informer: Informer<T>, name: string, isIt: (object: T) => boolean): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    using _ = informer.subscribe(() => {
      const object = informer.get(`${namespace}/${name}`);
      if (object !== undefined && isIt(object)) resolve(object);
    });
    return await promise;
  }

  #onChange(look: () => void): Disposable {
    const subscriptions = new DisposableStack();
    for (const informer of [this.#claims, this.#sandboxes, this.#pods]) {
      subscriptions.use((informer as Informer).subscribe(look));
    }
    return subscriptions;
  }

  #record<T extends KubeObject>(informer: Informer<T>): void {
    const { resource } = informer;
    const tell = (object: T | undefined, gone: boolean): void => {
      if (object !== undefined) this.ledger.read({ resource, object, gone });
    };
    this.#owned.use(
      informer.subscribe(({ deltas }) => {
        for (const delta of deltas) tell(delta.new ?? delta.old, delta.new === undefined);
      }),
    );
  }
}

function isReady({ status }: SandboxClaim | Sandbox): boolean {
  return isConditionTrue(status?.conditions, "Ready");
}

/** Whether a Pod has the pool label and the autoscaler annotation; undefined if it has only one of them. */
function markOf(metadata: Pod["metadata"]): boolean | undefined {
  const isLabelled = metadata?.labels?.[warmPoolSandboxLabel] !== undefined;
  const isEvictable = metadata?.annotations?.[safeToEvictAnnotation] !== undefined;
  return isLabelled === isEvictable ? isLabelled : undefined;
}
