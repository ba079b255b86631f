import {
  type Pod,
  podSnapshots,
  podSnapshotTriggers,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { type Client, createClient, Fence, Informers, type KubeObject, kubeEvents } from "@agent-sandbox/kube";
import { MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { pods, secrets, services, volumeClaims } from "./child-caches.ts";
import { networkPolicies } from "./template/network-policies.ts";

interface Context {
  readonly informers: Informers;
  readonly fence: Fence;
  readonly scheduler: VirtualClock;
}

interface Process {
  readonly context: Context;
  readonly cleanup: AsyncDisposableStack;
}

/** An in-memory API server with every kind that the controllers use, a virtual clock, and shared caches. */
export class World implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly server: MemoryApiServer;
  /** A client without injected faults. */
  readonly user: Client;
  #process: Process;

  constructor() {
    const { clock } = this;
    const withStatus = [
      sandboxes,
      sandboxClaims,
      sandboxWarmPools,
      sandboxSnapshots,
      podSnapshots,
      podSnapshotTriggers,
      pods,
      services,
      volumeClaims,
    ];
    const plain = [sandboxTemplates, networkPolicies, secrets, kubeEvents];
    const resources = [...withStatus.map((resource) => ({ ...resource, status: true })), ...plain];
    this.server = new MemoryApiServer({ resources, scheduler: clock });
    this.user = createClient(
      this.server.connect(() => undefined),
      { clock, random: () => 0 },
    );
    this.#process = this.#open();
  }

  get context(): Context {
    return this.#process.context;
  }

  /** Stopped with the process. */
  start<T extends AsyncDisposable>(controller: T): T {
    return this.#process.cleanup.use(controller);
  }

  /** Stops the controllers. The next ones start with empty caches. */
  async endProcess(): Promise<void> {
    await this.#process.cleanup.disposeAsync();
    this.#process = this.#open();
  }

  /** Makes every Pod Ready, with an address of its own, in one write. */
  runPods({ afterMs = (): number => 0 }: { afterMs?: (pod: Pod) => number } = {}): void {
    let next = 1;
    this.server.onChange(({ resource, object, gone, previous }) => {
      if (resource.plural !== "pods" || gone || previous !== undefined) return;
      const ip = `10.${(next >> 16) & 255}.${(next >> 8) & 255}.${next & 255}`;
      next += 1;
      this.clock.schedule(afterMs(object as Pod), () => void this.#run(object, ip));
    });
  }

  writes(): Record<string, number> {
    return Object.fromEntries(this.server.writes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.cleanup.disposeAsync();
  }

  /** New caches and a new fence, as in another process. */
  openContext(cleanup: AsyncDisposableStack): Context {
    const { clock } = this;
    const client = createClient(this.server, { clock, random: () => 0 });
    const informers = cleanup.use(new Informers({ client, scheduler: clock, follow: { random: () => 0 } }));
    return { informers, fence: new Fence({ informers, scheduler: clock }), scheduler: clock };
  }

  #open(): Process {
    const cleanup = new AsyncDisposableStack();
    return { context: this.openContext(cleanup), cleanup };
  }

  async #run(pod: KubeObject, ip: string): Promise<void> {
    const { name = "", namespace = "" } = pod.metadata ?? {};
    const conditions = ["PodScheduled", "Ready"].map((type) => ({ type, status: "True" }));
    const body = { status: { phase: "Running", podIPs: [{ ip }], conditions } };
    const patch = { type: "merge", body, preconditions: { uid: pod.metadata?.uid ?? "" } } as const;
    // The Pod may have been deleted meanwhile.
    await this.user.patch(pods, { name, namespace }, patch, { subresource: "status" }).catch(() => undefined);
  }
}
