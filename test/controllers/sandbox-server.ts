import type { Pod, Sandbox, SandboxSpec } from "@agent-sandbox/api";
import { sandboxes } from "@agent-sandbox/api";
import { createApiServer } from "@agent-sandbox/apiserver";
import {
  podCache,
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
  type KubeObject,
  type Resource,
  type Transport,
} from "@agent-sandbox/kube";
import { startPodFaker } from "./pod-faker.ts";

export const namespace = "default";
const user = "sandbox-controller";

/** The rights of the Sandbox controller. */
const rules = [
  { apiGroups: ["agents.x-k8s.io"], resources: ["sandboxes"], verbs: ["get", "list", "watch", "patch", "delete"] },
  { apiGroups: ["agents.x-k8s.io"], resources: ["sandboxes/status"], verbs: ["patch"] },
  { apiGroups: ["agents.x-k8s.io"], resources: ["sandboxes/finalizers"], verbs: ["update"] },
  { apiGroups: [""], resources: ["pods", "services"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["get", "list", "watch", "create", "patch"] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
];

/** An API server with a client of its administrator and one of the controller's user. */
export interface ControlledServer extends AsyncDisposable {
  readonly admin: Transport;
  readonly controllers: Transport;
  /** The images of Pods, and of the runtime in them, on a server with a real node. Without them a fake node runs the Pods. */
  readonly images?: { readonly pod: string; readonly runtime: string };
}

const rbac = (kind: string, plural: string): Resource => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  plural,
  namespaced: false,
});

/** The embedded API server, on which the controller has only the rights above. */
export async function startEmbedded(): Promise<ControlledServer> {
  const server = await createApiServer({ nodeName: "node-1", freezeObjects: true });
  await grant(createClient(server.transport));
  return {
    admin: server.transport,
    controllers: server.transportAs({ user, groups: ["system:authenticated"] }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function grant(admin: Client): Promise<void> {
  const name = "sandbox-controller-alone";
  await admin.create(rbac("ClusterRole", "clusterroles"), { metadata: { name }, rules } as KubeObject);
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  const binding = { metadata: { name }, subjects, roleRef } as KubeObject;
  await admin.create(rbac("ClusterRoleBinding", "clusterrolebindings"), binding);
}

/**
 * An API server, the Sandbox controller with only the rights it needs, and a fake node. It runs in real time: waits end when
 * the server reports the change they wait for.
 */
export class SandboxServer implements AsyncDisposable {
  readonly client: Client;
  /** The controller's writes, by method and path. */
  readonly writes: string[] = [];
  readonly #image: string;
  readonly #cleanup = new AsyncDisposableStack();
  readonly #seen: { sandboxes: Informer<Sandbox>; pods: Informer<Pod> } & Record<string, Informer>;

  private constructor(server: ControlledServer) {
    const cleanup = this.#cleanup;
    cleanup.use(server);
    this.client = createClient(server.admin);
    const informers = cleanup.use(new Informers({ client: this.client }));
    this.#seen = {
      sandboxes: informers.get(sandboxes),
      pods: podCache(informers),
      services: serviceCache(informers),
      volumeClaims: volumeClaimCache(informers),
    };
    this.#image = server.images?.pod ?? "host";
    if (server.images === undefined) cleanup.use(startPodFaker({ client: this.client, informers }));
  }

  /** Also closes the server. */
  static async start(server: ControlledServer, options: Partial<SandboxControllerOptions>): Promise<SandboxServer> {
    const world = new SandboxServer(server);
    const client = createClient(world.#counted(server.controllers));
    const informers = world.#cleanup.use(new Informers({ client }));
    const fence = world.#cleanup.use(new Fence({ informers }));
    await world.#cleanup.use(startSandboxController({ informers, fence, ...options })).ready;
    return world;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup.disposeAsync();
  }

  /** A Pod that sleeps. */
  get podSpec(): NonNullable<Pod["spec"]> {
    const containers = [{ name: "c", image: this.#image, command: ["sleep", "infinity"] }];
    // `sleep` as the first process ignores SIGTERM.
    return { terminationGracePeriodSeconds: 1, containers };
  }

  async create(name: string, spec: Partial<SandboxSpec> = {}, metadata: Sandbox["metadata"] = {}): Promise<Sandbox> {
    return this.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name, namespace, ...metadata },
      spec: { podTemplate: { spec: this.podSpec }, ...spec },
    });
  }

  async edit(name: string, body: object): Promise<void> {
    await this.client.patch(sandboxes, { namespace, name }, { type: "merge", body });
  }

  /** Resolves when the condition holds, with the Sandbox or with undefined if it is gone. */
  until(name: string, isWanted: (sandbox: Sandbox | undefined) => boolean): Promise<Sandbox | undefined> {
    return until(this.#seen.sandboxes, name, isWanted);
  }

  /** The same for its Pod. */
  untilPod(name: string, isWanted: (pod: Pod | undefined) => boolean): Promise<Pod | undefined> {
    return until(this.#seen.pods, name, isWanted);
  }

  /** The same for a Service or a volume claim. */
  untilObject(
    kind: "services" | "volumeClaims",
    name: string,
    isWanted: (object: KubeObject | undefined) => boolean,
  ): Promise<KubeObject | undefined> {
    return until(this.#seen[kind] as Informer, name, isWanted);
  }

  /** Resolves when the object is terminating or gone: on a cluster another controller may keep a volume. */
  untilGoing(kind: "volumeClaims", name: string): Promise<unknown> {
    const isGoing = (object?: KubeObject): boolean => object?.metadata?.deletionTimestamp !== undefined;
    return until(this.#seen[kind] as Informer, name, (object) => object === undefined || isGoing(object));
  }

  untilGone(kind: "pods" | "services" | "sandboxes", name: string): Promise<unknown> {
    return until(this.#seen[kind] as Informer, name, (object) => object === undefined);
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
