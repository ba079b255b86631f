import { type CallOptions, Deadline } from "./deadline.ts";
import { isSandboxError, SandboxError } from "./errors.ts";
import type { ApiServer } from "./kube/api-server.ts";
import {
  type ClaimObject,
  claims,
  type PoolObject,
  pools,
  type SandboxObject,
  sandboxes,
  snapshots,
} from "./kube/resources.ts";
import { waitFor } from "./kube/wait.ts";
import { requestId as newRequestId } from "./request-id.ts";
import type { Router } from "./runtime/router.ts";
import { createOnce } from "./sandbox/create-once.ts";
import {
  type CreateOptions,
  checkOptions,
  claimOf,
  forkOf,
  type Identity,
  sandboxOf,
} from "./sandbox/create-options.ts";
import { isClaimed, isReady } from "./sandbox/readiness.ts";
import { Sandbox, type SandboxStatus, statusOf } from "./sandbox/sandbox.ts";
import { operate } from "./telemetry/operation.ts";
import type { Tracing } from "./telemetry/tracing.ts";

export interface Connection {
  readonly api: ApiServer;
  readonly router: Router;
  /** Of sandboxes whose namespace is not named. */
  readonly namespace: string;
  close(): void;
}

export interface ListOptions extends CallOptions {
  readonly namespace?: string;
  /** Only sandboxes with all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ListedSandbox {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly status: SandboxStatus;
}

const createTimeoutMs = 180_000;
const callTimeoutMs = 60_000;

/**
 * Creates and finds sandboxes on a box or a cluster. `connect` makes one.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host", labels: { job: "example" }, memory: "512Mi", lifetimeSeconds: 600 });
 * for (const { name, status } of await client.list({ labels: { job: "example" } })) console.log(name === sandbox.name, status.phase);
 * // Output: true Ready
 * ```
 */
export class SandboxClient implements Disposable {
  readonly namespace: string;
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.namespace = connection.namespace;
    this.#connection = connection;
  }

  /**
   * Creates a sandbox and waits until it can be used. If it will not become ready, it is deleted again and the error has the cause.
   * Default timeout: three minutes.
   */
  async create(options: CreateOptions): Promise<Sandbox> {
    checkOptions(options);
    const { namespace = this.namespace, requestId = newRequestId() } = options;
    const name = options.name ?? `sandbox-${newRequestId().slice(0, 8)}`;
    const doing = `Cannot create sandbox "${name}"`;
    const identity = { name, namespace, requestId, now: Date.now() };
    const operation = { name: "create", sandbox: { name, namespace }, doing, options, defaultMs: createTimeoutMs };
    return operate(this.#tracing, operation, (deadline) => this.#create(options, identity, { deadline, doing }));
  }

  /** Attaches to a sandbox by its name or the name of its claim. It may be asleep: the first call wakes it. */
  async get(name: string, options: CallOptions & { readonly namespace?: string } = {}): Promise<Sandbox> {
    const { namespace = this.namespace } = options;
    const sandbox = { name, namespace };
    const limits = { options, defaultMs: callTimeoutMs, doing: `Cannot find sandbox "${name}"` };
    return operate(this.#tracing, { name: "get", sandbox, ...limits }, async (deadline) => {
      const claim = await this.#find(claims, sandbox, deadline);
      if (claim?.status?.sandbox?.name !== undefined) return this.#handleOf(claim, false);
      const { metadata } = await this.#api.get(sandboxes, sandbox, deadline);
      return new Sandbox(this.#api, this.#connection.router, { ...sandbox, uid: metadata.uid, isOwned: false });
    });
  }

  /**
   * A handle of a sandbox that exists, by its name or the name of its claim. Nothing is sent, so this also works with a token for one
   * sandbox and without an API server.
   */
  handle(name: string, options: { readonly namespace?: string } = {}): Sandbox {
    const { namespace = this.namespace } = options;
    return new Sandbox(this.#api, this.#connection.router, { name, namespace, isOwned: false });
  }

  async list(options: ListOptions = {}): Promise<ListedSandbox[]> {
    const { namespace = this.namespace, labels = {} } = options;
    const labelSelector = Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(",");
    const operation = { name: "list", doing: "Cannot list sandboxes", options, defaultMs: callTimeoutMs };
    const found = await operate(this.#tracing, operation, (deadline) =>
      this.#api.list(sandboxes, { namespace, labelSelector }, deadline),
    );
    return found.map((sandbox) => ({
      name: sandbox.metadata.name ?? "",
      namespace,
      labels: sandbox.metadata.labels ?? {},
      createdAt: new Date(sandbox.metadata.creationTimestamp ?? 0),
      status: statusOf(sandbox),
    }));
  }

  /** Deletes a snapshot. Succeeds if it is already gone. */
  async deleteSnapshot(name: string, options: CallOptions & { readonly namespace?: string } = {}): Promise<void> {
    const { namespace = this.namespace } = options;
    const doing = `Cannot delete snapshot "${name}"`;
    await operate(this.#tracing, { name: "deleteSnapshot", doing, options, defaultMs: callTimeoutMs }, (deadline) =>
      this.#api.delete(snapshots, { namespace, name }, deadline),
    );
  }

  /** Closes the connections. Sandboxes go on. */
  close(): void {
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  get #api(): ApiServer {
    return this.#connection.api;
  }

  get #tracing(): Tracing | undefined {
    return this.#connection.router.tracing;
  }

  async #create(
    options: CreateOptions,
    identity: Identity,
    { deadline, doing }: { readonly deadline: Deadline; readonly doing: string },
  ): Promise<Sandbox> {
    const { name, namespace } = identity;
    const place = { namespace, name };
    const pool = options.pool ?? (options.template && (await this.#poolOf(options.template, namespace, deadline)));
    if (pool !== undefined) {
      const claim = await createOnce(this.#api, claims, claimOf(pool, options, identity), deadline);
      return this.#orDelete(claims, { created: claim, deadline }, async () => {
        const wait = { resource: claims, name: place, deadline, doing, from: claim, judge: isClaimed };
        return this.#handleOf(await waitFor(this.#api, wait), true);
      });
    }
    const wanted =
      options.snapshot === undefined ? sandboxOf(options, identity) : await this.#fork(options, identity, deadline);
    const created = await createOnce(this.#api, sandboxes, wanted, deadline);
    return this.#orDelete(sandboxes, { created, deadline }, async () => {
      await waitFor(this.#api, { resource: sandboxes, name: place, deadline, doing, from: created, judge: isReady });
      const { uid } = created.metadata;
      return new Sandbox(this.#api, this.#connection.router, { ...place, uid, isOwned: true });
    });
  }

  #handleOf(claim: ClaimObject, isOwned: boolean): Sandbox {
    const { name: claimName = "", namespace = "", uid } = claim.metadata;
    const name = claim.status?.sandbox?.name ?? "";
    return new Sandbox(this.#api, this.#connection.router, {
      name,
      namespace,
      claim: { name: claimName, uid },
      isOwned,
    });
  }

  /** A pool of the template, which is created without members if there is none. */
  async #poolOf(template: string, namespace: string, deadline: Deadline): Promise<string> {
    const all = await this.#api.list(pools, { namespace }, deadline);
    const found = all.find(({ spec }) => spec.sandboxTemplateRef.name === template)?.metadata.name;
    if (found !== undefined) return found;
    const { apiVersion, kind } = pools;
    const spec = { replicas: 0, sandboxTemplateRef: { name: template } };
    const pool: PoolObject = { apiVersion, kind, metadata: { name: template, namespace }, spec };
    try {
      return (await this.#api.create(pools, pool, deadline)).metadata.name ?? template;
    } catch (error) {
      if (!isSandboxError(error, "AlreadyExists")) throw error;
      const message = `Cannot use template "${template}": no pool uses it, and a pool of that name uses another one`;
      const { spec: other } = await this.#api.get(pools, { namespace, name: template }, deadline);
      if (other.sandboxTemplateRef.name === template) return template;
      throw new SandboxError("Conflict", message, { cause: error });
    }
  }

  async #fork(options: CreateOptions, identity: Identity, deadline: Deadline): Promise<SandboxObject> {
    const { namespace } = identity;
    const snapshot = await this.#api.get(snapshots, { namespace, name: options.snapshot ?? "" }, deadline);
    const source = snapshot.status?.sourceName ?? snapshot.spec.sandboxRef?.name ?? "";
    return forkOf(await this.#api.get(sandboxes, { namespace, name: source }, deadline), options, identity);
  }

  async #find(
    resource: typeof claims,
    name: { namespace: string; name: string },
    deadline: Deadline,
  ): Promise<ClaimObject | undefined> {
    try {
      return await this.#api.get(resource, name, deadline);
    } catch (error) {
      if (isSandboxError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** Deletes what was created if the rest of the call fails. */
  async #orDelete(
    resource: typeof claims | typeof sandboxes,
    { created: { metadata }, deadline }: { readonly created: ClaimObject | SandboxObject; readonly deadline: Deadline },
    rest: () => Promise<Sandbox>,
  ): Promise<Sandbox> {
    try {
      return await rest();
    } catch (error) {
      // The caller's deadline or signal may be over, so this needs its own.
      using own = new Deadline({ headers: deadline.headers }, callTimeoutMs, "Cannot clean up");
      const { name = "", namespace = "", uid } = metadata;
      await this.#api
        .delete<ClaimObject | SandboxObject>(resource, { namespace, name, uid }, own)
        .catch(() => undefined);
      throw error;
    }
  }
}
