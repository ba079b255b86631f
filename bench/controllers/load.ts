import {
  isConditionTrue,
  type SandboxClaim,
  type SandboxWarmPool,
  sandboxClaims,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { type Client, createClient, type Informer, Informers, keyOf } from "@agent-sandbox/kube";
import { startPodFaker } from "../../test/controllers/pod-faker.ts";
import type { Server } from "../api/task.ts";
import { connect } from "./connect.ts";

const namespace = "default";
const apiVersion = "extensions.agents.x-k8s.io/v1beta1";

export interface ReadyClaim {
  readonly name: string;
  readonly sandbox: string;
  /** From the request that creates the claim to the event that shows it Ready. */
  readonly ms: number;
}

/** Simulates the users of the API and, unless Pods have an image for a real node, a node on which Pods are Ready as soon as they exist. */
export class Users implements AsyncDisposable {
  readonly #client: Client;
  readonly #owned = new AsyncDisposableStack();
  readonly #pools: Informer<SandboxWarmPool>;
  readonly #waiting = new Map<string, (claim: SandboxClaim) => void>();

  readonly #image: string;

  private constructor(server: Server, image: string | undefined) {
    this.#image = image ?? "host";
    this.#client = this.#owned.adopt(createClient(connect(server)), (client) => client.close());
    const informers = this.#owned.use(new Informers({ client: this.#client }));
    this.#pools = informers.get(sandboxWarmPools);
    if (image === undefined) this.#owned.use(startPodFaker({ client: this.#client, informers }));
    const claims = informers.get(sandboxClaims);
    this.#owned.use(
      claims.subscribe(({ deltas }) => {
        for (const { new: claim } of deltas) if (claim !== undefined) this.#look(claim);
      }),
    );
  }

  static async open(server: Server, { image }: { readonly image?: string } = {}): Promise<Users> {
    const users = new Users(server, image);
    await users.#pools.synced;
    return users;
  }

  async createPool(name: string, replicas: number): Promise<void> {
    const metadata = { name, namespace };
    const podTemplate = { spec: { containers: [{ name: "c", image: this.#image }] } };
    await this.#client.create(sandboxTemplates, {
      apiVersion,
      kind: "SandboxTemplate",
      metadata,
      spec: { podTemplate },
    });
    const spec = { replicas, sandboxTemplateRef: { name } };
    await this.#client.create(sandboxWarmPools, { apiVersion, kind: "SandboxWarmPool", metadata, spec });
    await this.untilFull(name);
  }

  /** Resolves when the status of the pool reports all members Ready. */
  async untilFull(name: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    using _ = this.#pools.subscribe(() => {
      const { spec, status } = this.#pools.get(keyOf({ namespace, name })) ?? {};
      if (spec !== undefined && (status?.readyReplicas ?? 0) === spec.replicas) resolve();
    });
    await promise;
  }

  async claim(name: string, pool: string): Promise<ReadyClaim> {
    const { promise, resolve } = Promise.withResolvers<SandboxClaim>();
    this.#waiting.set(name, resolve);
    const started = performance.now();
    await this.#client.create(sandboxClaims, {
      apiVersion,
      kind: "SandboxClaim",
      metadata: { name, namespace },
      spec: { warmPoolRef: { name: pool } },
    });
    const { status } = await promise;
    return { name, sandbox: status?.sandbox?.name ?? "", ms: performance.now() - started };
  }

  claims(prefix: string, count: number, pool: string): Promise<ReadyClaim[]> {
    return Promise.all(Array.from({ length: count }, (_, at) => this.claim(`${prefix}-${at}`, pool)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  #look(claim: SandboxClaim): void {
    const { name = "" } = claim.metadata;
    const tell = this.#waiting.get(name);
    if (tell === undefined || !isConditionTrue(claim.status?.conditions, "Ready")) return;
    this.#waiting.delete(name);
    tell(claim);
  }
}
