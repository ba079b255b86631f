import { isDeepStrictEqual } from "node:util";
import type { Lease } from "@agent-sandbox/api";
import { type Client, type EventRecorder, isReason, type Logger, systemScheduler } from "@agent-sandbox/kube";
import { NodeError } from "../errors.ts";
import type { StoredImage } from "../image/image-index.ts";
import { leases, nodes } from "../resources.ts";
import { nodeImages } from "./node-images.ts";
import { type MachineFacts, nodeObject } from "./node-object.ts";
import type { Room } from "./pressure.ts";

const leaseNamespace = "kube-node-lease";
const leaseSeconds = 120;
const renewEveryMs = 40_000;
const retryAfterMs = 2000;

export interface RegistrationOptions {
  readonly client: Client;
  readonly facts: MachineFacts;
  /** The images in the store now. */
  readonly images: () => Promise<readonly StoredImage[]>;
  /** The free resources now. */
  readonly room: () => Promise<Room>;
  /** Gets one event about a shared kernel. */
  readonly events: EventRecorder;
  readonly log: Logger;
  readonly now: () => number;
}

/** Updates the Node object when something changes, and renews its Lease as a heartbeat. */
export class Registration implements AsyncDisposable {
  /** Resolves when the node is registered. Failures are retried. */
  readonly ready: Promise<void>;
  readonly #options: RegistrationOptions;
  readonly #registered: PromiseWithResolvers<void> = Promise.withResolvers();
  #beating: Promise<void>;
  #timer: Disposable | undefined;
  #stopped = false;
  #warned = false;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.ready = this.#registered.promise;
    // A caller that does not await `ready` must not cause an unhandled rejection.
    this.ready.catch(() => undefined);
    this.#beating = this.#beat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    await this.#beating;
    this.#registered.reject(new NodeError("NodeSetup", "Cannot register the node: it was stopped"));
  }

  async #beat(): Promise<void> {
    let nextMs = renewEveryMs;
    try {
      await this.#writeNode();
      await this.#renewLease();
      this.#warn();
      this.#registered.resolve();
    } catch (error) {
      this.#options.log.warn({ error }, "node not registered");
      nextMs = retryAfterMs;
    }
    if (this.#stopped) return;
    this.#timer = systemScheduler.schedule(nextMs, () => {
      this.#beating = this.#beat();
    });
  }

  async #writeNode(): Promise<void> {
    const { client, images, now, room } = this.#options;
    const facts = { ...this.#options.facts, room: await room() };
    const key = { name: facts.name };
    const before =
      (await client.get(nodes, key).catch(absent)) ?? (await client.create(nodes, nodeObject(facts, undefined, now())));
    const wanted = nodeObject(facts, before, now());
    const labels = { ...before.metadata?.labels, ...wanted.metadata?.labels };
    if (!isDeepStrictEqual(labels, before.metadata?.labels)) {
      await client.patch(nodes, key, { type: "merge", body: { metadata: { labels: wanted.metadata?.labels } } });
    }
    const status = { ...wanted.status, images: nodeImages(await images()) };
    if (!isDeepStrictEqual({ ...before.status, ...status }, before.status)) {
      await client.patch(nodes, key, { type: "merge", body: { status } }, { subresource: "status" });
    }
  }

  #warn(): void {
    const { events, facts, log } = this.#options;
    if (this.#warned || facts.sharedKernel === undefined) return;
    this.#warned = true;
    const { reason, message } = facts.sharedKernel;
    log.warn({ reason }, message);
    const node = { metadata: { name: facts.name, uid: facts.name } };
    events.record(nodes, node, { type: "Warning", reason, action: "Starting", text: message });
  }

  async #renewLease(): Promise<void> {
    const { client, facts, now } = this.#options;
    const key = { namespace: leaseNamespace, name: facts.name };
    const renewTime = new Date(now()).toISOString().replace(/Z$/, "000Z");
    const spec = { holderIdentity: facts.name, leaseDurationSeconds: leaseSeconds, renewTime };
    const renewed: Lease | undefined = await client.patch(leases, key, { type: "merge", body: { spec } }).catch(absent);
    if (renewed === undefined) {
      await client.create(leases, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: key, spec });
    }
  }
}

function absent(error: unknown): undefined {
  if (!isReason(error, "NotFound")) throw error;
}
