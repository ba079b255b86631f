import type { Pod, Sandbox, SandboxSpec } from "@agent-sandbox/api";
import { sandboxes } from "@agent-sandbox/api";
import { type ApiServer, createApiServer } from "@agent-sandbox/apiserver";
import {
  podCache,
  pods,
  type SandboxControllerOptions,
  serviceCache,
  startSandboxController,
  volumeClaimCache,
} from "@agent-sandbox/controllers";
import {
  type Client,
  createClient,
  Fence,
  type Informer,
  Informers,
  isReason,
  type KubeObject,
  type Resource,
  type Transport,
} from "@agent-sandbox/kube";

export const namespace = "default";
const user = "sandbox-controller";

/** All that the Sandbox controller may do. */
const rules = [
  { apiGroups: ["agents.x-k8s.io"], resources: ["sandboxes"], verbs: ["get", "list", "watch", "patch", "delete"] },
  { apiGroups: ["agents.x-k8s.io"], resources: ["sandboxes/status"], verbs: ["patch"] },
  { apiGroups: ["agents.x-k8s.io"], resources: ["sandboxes/finalizers"], verbs: ["update"] },
  { apiGroups: [""], resources: ["pods", "services"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["get", "list", "watch", "create", "patch"] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create"] },
];

const rbac = (kind: string, plural: string): Resource => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  plural,
  namespaced: false,
});

/**
 * The embedded API server, the Sandbox controller with no more rights than it needs, and a node that only reports. Time is
 * real: waits end when the server tells of what they wait for.
 */
export class SandboxServer implements AsyncDisposable {
  readonly client: Client;
  /** The controller's writes, by method and path. */
  readonly writes: string[] = [];
  readonly #cleanup: AsyncDisposableStack;
  readonly #seen: { sandboxes: Informer<Sandbox>; pods: Informer<Pod> } & Record<string, Informer>;

  private constructor(server: ApiServer, cleanup: AsyncDisposableStack) {
    this.#cleanup = cleanup;
    this.client = createClient(server.transport);
    const informers = cleanup.use(new Informers({ client: this.client }));
    this.#seen = {
      sandboxes: informers.get(sandboxes),
      pods: podCache(informers),
      services: serviceCache(informers),
      volumeClaims: volumeClaimCache(informers),
    };
    cleanup.use(this.#seen.pods.subscribe(({ deltas }) => deltas.forEach((delta) => this.#play(delta.old, delta.new))));
  }

  static async start(options: Partial<SandboxControllerOptions> = {}): Promise<SandboxServer> {
    const cleanup = new AsyncDisposableStack();
    try {
      const server = cleanup.use(await createApiServer({ nodeName: "node-1" }));
      const world = new SandboxServer(server, cleanup);
      await world.#grant();
      const client = createClient(world.#counted(server.transportAs({ user, groups: ["system:authenticated"] })));
      const informers = cleanup.use(new Informers({ client }));
      const fence = cleanup.use(new Fence({ informers }));
      await cleanup.use(startSandboxController({ informers, fence, ...options })).ready;
      return world;
    } catch (error) {
      await cleanup.disposeAsync();
      throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup.disposeAsync();
  }

  async create(name: string, spec: Partial<SandboxSpec> = {}): Promise<Sandbox> {
    const podTemplate = { spec: { containers: [{ name: "c", image: "host", command: ["sleep", "infinity"] }] } };
    return this.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name, namespace },
      spec: { podTemplate, ...spec },
    });
  }

  async edit(name: string, body: object): Promise<void> {
    await this.client.patch(sandboxes, { namespace, name }, { type: "merge", body });
  }

  /** Settles when the Sandbox is as wanted; with the Sandbox, or undefined when it is gone. */
  until(name: string, isWanted: (sandbox: Sandbox | undefined) => boolean): Promise<Sandbox | undefined> {
    return until(this.#seen.sandboxes, name, isWanted);
  }

  untilGone(kind: "pods" | "services" | "volumeClaims" | "sandboxes", name: string): Promise<unknown> {
    return until(this.#seen[kind] as Informer, name, (object) => object === undefined);
  }

  async #grant(): Promise<void> {
    const name = "sandbox-controller-alone";
    await this.client.create(rbac("ClusterRole", "clusterroles"), { metadata: { name }, rules } as KubeObject);
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    const binding = { metadata: { name }, subjects, roleRef } as KubeObject;
    await this.client.create(rbac("ClusterRoleBinding", "clusterrolebindings"), binding);
  }

  #counted(transport: Transport): Transport {
    return {
      send: (request) => {
        if (request.method !== "GET") this.writes.push(`${request.method} ${request.path.split("?")[0]}`);
        return transport.send(request);
      },
      stream: (request) => transport.stream(request),
      close: () => transport.close(),
    };
  }

  /** As a node would: a new Pod runs, a Pod that is to go is gone. */
  #play(before: Pod | undefined, pod: Pod | undefined): void {
    if (pod === undefined) return;
    const { name = "", uid = "", deletionTimestamp } = pod.metadata ?? {};
    const ignoreGone = (error: unknown): void => {
      if (!isReason(error, "NotFound", "Conflict")) throw error;
    };
    const preconditions = { uid };
    if (deletionTimestamp !== undefined) {
      void this.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0, preconditions }).catch(ignoreGone);
    } else if (before === undefined) {
      const conditions = ["PodScheduled", "Ready"].map((type) => ({ type, status: "True" }));
      const body = { status: { phase: "Running", podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.2" }], conditions } };
      const patch = { type: "merge", body, preconditions } as const;
      void this.client.patch(pods, { namespace, name }, patch, { subresource: "status" }).catch(ignoreGone);
    }
  }
}

function until<T extends KubeObject>(
  informer: Informer<T>,
  name: string,
  isWanted: (object: T | undefined) => boolean,
): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<T | undefined>();
  const look = (): void => {
    const object = informer.get(`${namespace}/${name}`);
    if (isWanted(object)) resolve(object);
  };
  const subscription = informer.subscribe(look);
  look();
  return promise.finally(() => subscription[Symbol.dispose]());
}
