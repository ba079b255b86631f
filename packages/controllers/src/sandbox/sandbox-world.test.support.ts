import {
  type Condition,
  findCondition,
  type ObjectMeta,
  type PersistentVolumeClaim,
  type Pod,
  type PodStatus,
  type Sandbox,
  type SandboxSpec,
  type Service,
  sandboxes,
  sandboxSnapshots,
} from "@agent-sandbox/api";
import {
  type Client,
  createClient,
  EventRecorder,
  Fence,
  Informers,
  type KubeEvent,
  type KubeObject,
  kubeEvents,
  type Logger,
  type Resource,
} from "@agent-sandbox/kube";
import { type ApiCall, type Fault, MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { pods, secrets, services, volumeClaims } from "../child-caches.ts";
import { type SandboxControllerOptions, startSandboxController } from "./controller.ts";

export const namespace = "default";
export const name = "my-sandbox";
/** The name hash of `my-sandbox`. */
export const hash = "374de8f5";
export const hashLabel = "agents.x-k8s.io/sandbox-name-hash";

export const runningPod: PodStatus = {
  phase: "Running",
  podIPs: [{ ip: "10.0.0.2" }],
  conditions: [
    { type: "PodScheduled", status: "True" },
    { type: "Ready", status: "True" },
  ],
};

export interface SandboxParts {
  readonly name?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: Partial<SandboxSpec>;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

export interface WorldOptions extends Partial<SandboxControllerOptions> {
  /** Deleted Pods stay, terminating, until `finishPod`. */
  readonly gracefulPods?: boolean;
  /** The server does not serve SandboxSnapshots. */
  readonly withoutSnapshots?: boolean;
}

interface Process {
  readonly all: AsyncDisposableStack;
  isDead: boolean;
}

/** An in-memory API server, a running controller, and a user's client. */
export class SandboxWorld implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly server: MemoryApiServer;
  readonly user: Client;
  readonly warnings: unknown[] = [];
  /** The controller's write requests, by kind, whether they succeeded or not. */
  readonly attempts: Map<string, number> = new Map();
  /** Faults of the controller's requests only. */
  controllerFaults: ((call: ApiCall) => Fault | undefined) | undefined;
  /** Added to the date that the controller reads. */
  clockErrorMs = 0;
  readonly #options: WorldOptions;
  #process: Process | undefined;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    const withStatus = { status: true };
    this.server = new MemoryApiServer({
      resources: [
        { ...sandboxes, ...withStatus },
        { ...pods, ...withStatus, graceful: options.gracefulPods ?? false },
        { ...services, ...withStatus },
        { ...volumeClaims, ...withStatus },
        ...(options.withoutSnapshots ? [] : [{ ...sandboxSnapshots, ...withStatus }]),
        secrets,
        kubeEvents,
      ],
      scheduler: this.clock,
    });
    this.user = createClient(this.server, { clock: this.clock, random: () => 0 });
    this.start();
  }

  start(): void {
    const { clock } = this;
    const all = new AsyncDisposableStack();
    const process: Process = { all, isDead: false };
    const connection = this.server.connect((call) => (process.isDead ? { reset: "before" } : this.#meet(call)));
    const client = createClient(connection, { clock, random: () => 0 });
    const informers = all.use(new Informers({ client, scheduler: clock, follow: { random: () => 0 } }));
    const fence = new Fence({ informers, scheduler: clock });
    const reporter = { client, controller: "sandbox-controller", instance: "test" };
    const events = all.use(new EventRecorder({ ...reporter, scheduler: clock, random: () => 0 }));
    const now = (): number => clock.date() + this.clockErrorMs;
    const log = this.#log();
    all.use(startSandboxController({ informers, fence, events, scheduler: clock, now, log, ...this.#options }));
    this.#process = process;
  }

  /** Stops the controller and starts another with empty caches. */
  async restart(): Promise<void> {
    await this.#process?.all.disposeAsync();
    this.start();
  }

  /** The same without a clean stop, as `kill -9` does: requests in flight fail. */
  kill(): void {
    if (this.#process === undefined) return;
    this.#process.isDead = true;
    void this.#process.all.disposeAsync();
    this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.all.disposeAsync();
  }

  #meet(call: ApiCall): Fault | undefined {
    if (!["get", "list", "watch"].includes(call.verb)) {
      const what = `${call.verb} ${call.resource.plural}${call.subresource ? `/${call.subresource}` : ""}`;
      this.attempts.set(what, (this.attempts.get(what) ?? 0) + 1);
    }
    return this.controllerFaults?.(call) ?? this.server.onRequest?.(call);
  }

  #log(): Logger {
    const nothing = (): void => undefined;
    const warn = (fields: object): void => void this.warnings.push(fields);
    return { debug: nothing, info: nothing, warn, error: warn };
  }

  /** Advances the clock far enough for everything that does not wait for hours. */
  settle(ms = 1_000): Promise<void> {
    return this.clock.advance(ms);
  }

  async create(parts: SandboxParts = {}): Promise<Sandbox> {
    return this.user.create(sandboxes, newSandbox(parts));
  }

  /** Creates a Sandbox whose Pod is running. */
  async createRunning(parts: SandboxParts = {}): Promise<void> {
    await this.create(parts);
    await this.settle();
    await this.podReports(runningPod, parts.name);
    await this.settle();
  }

  async edit(body: object, sandboxName: string = name): Promise<void> {
    await this.user.patch(sandboxes, { namespace, name: sandboxName }, { type: "merge", body });
  }

  setMode(operatingMode: "Running" | "Suspended"): Promise<void> {
    return this.edit({ spec: { operatingMode } });
  }

  async podReports(status: PodStatus, podName: string = name): Promise<void> {
    const patch = { type: "merge", body: { status } } as const;
    await this.user.patch(pods, { namespace, name: podName }, patch, { subresource: "status" });
  }

  async editPod(body: object, podName: string = name): Promise<void> {
    await this.user.patch(pods, { namespace, name: podName }, { type: "merge", body });
  }

  /** Removes a terminating Pod, as the node does when its containers have ended. */
  async finishPod(podName: string = name): Promise<void> {
    await this.user.delete(pods, { namespace, name: podName }, { gracePeriodSeconds: 0 });
  }

  sandbox(sandboxName: string = name): Sandbox | undefined {
    return this.server.read(sandboxes, { namespace, name: sandboxName });
  }

  pod(podName: string = name): Pod | undefined {
    return this.server.read(pods, { namespace, name: podName });
  }

  service(serviceName: string = name): Service | undefined {
    return this.server.read(services, { namespace, name: serviceName });
  }

  volumeClaim(claimName: string): PersistentVolumeClaim | undefined {
    return this.server.read(volumeClaims, { namespace, name: claimName });
  }

  get events(): KubeEvent[] {
    return this.server.readAll(kubeEvents);
  }

  condition(type: string, sandboxName: string = name): Condition | undefined {
    return findCondition(this.sandbox(sandboxName)?.status?.conditions, type);
  }

  get conditionTypes(): string[] | undefined {
    return this.sandbox()?.status?.conditions?.map(({ type }) => type);
  }

  get podNameNote(): string | undefined {
    return this.sandbox()?.metadata.annotations?.["agents.x-k8s.io/pod-name"];
  }

  /** The writes while `work` runs, by kind. */
  writesDuring(work: () => Promise<void>): Promise<Record<string, number>> {
    return growth(this.server.writes, work);
  }

  /** The controller's write requests while `work` runs, by kind. */
  attemptsDuring(work: () => Promise<void>): Promise<Record<string, number>> {
    return growth(this.attempts, work);
  }

  /** Makes matching requests fail from now on. */
  refuse(verb: string, resource: Resource, reason: "InternalError" | "Conflict" = "InternalError"): void {
    this.server.onRequest = (call) =>
      call.verb === verb && call.resource.plural === resource.plural ? { refuse: { reason } } : undefined;
  }
}

async function growth(counts: ReadonlyMap<string, number>, work: () => Promise<void>): Promise<Record<string, number>> {
  const before = new Map(counts);
  await work();
  const grown = Array.from(counts, ([call, count]) => [call, count - (before.get(call) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, count]) => count > 0));
}

export function newSandbox({ name: own = name, spec = {}, metadata, labels, annotations }: SandboxParts = {}): Sandbox {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: own, namespace, ...(labels && { labels }), ...(annotations && { annotations }), ...metadata },
    spec: { podTemplate: { spec: { containers: [{ name: "c", image: "host" }] } }, ...spec },
  };
}

/** An owner reference to the Sandbox as controller. */
export function ownedBy(sandbox: KubeObject | undefined): NonNullable<ObjectMeta["ownerReferences"]>[number] {
  const { name: own = "", uid = "" } = sandbox?.metadata ?? {};
  const kind = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" };
  return { ...kind, name: own, uid, controller: true, blockOwnerDeletion: true };
}

export const deployment: NonNullable<ObjectMeta["ownerReferences"]>[number] = {
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  name: "someone-else",
  uid: "00000000-0000-4000-8000-00000000ffff",
  controller: true,
};

export function newPod(metadata: ObjectMeta = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, ...metadata },
    spec: { containers: [{ name: "stranger", image: "other" }], nodeName: "node-of-stranger" },
  };
}

export function podTemplate(
  metadata: NonNullable<SandboxSpec["podTemplate"]["metadata"]>,
  spec: Partial<SandboxSpec["podTemplate"]["spec"]> = {},
): Partial<SandboxSpec> {
  return { podTemplate: { metadata, spec: { containers: [{ name: "c", image: "host" }], ...spec } } };
}
