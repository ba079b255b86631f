import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { type Sandbox, sandboxClaims, sandboxes, sandboxNameHashLabel } from "@agent-sandbox/api";
import { type Client, createClient, type Transport, type TransportRequest } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { pods, secrets } from "./cluster/resources.ts";
import type { RouterOptions } from "./router-options.ts";
import { type Router, startRouter } from "./start-router.ts";

/** The user of a token, and the Sandboxes (`namespace/name`) that the user may connect to. */
export interface KnownUser {
  readonly username: string;
  readonly mayConnect: readonly string[];
}

/** An in-memory API server with TokenReviews and SubjectAccessReviews, and pods on loopback addresses. */
export class TestCluster implements AsyncDisposable {
  readonly api: MemoryApiServer = new MemoryApiServer({
    resources: [{ ...sandboxes, status: true }, { ...sandboxClaims, status: true }, { ...pods, status: true }, secrets],
  });
  readonly users: Map<string, KnownUser> = new Map();
  readonly reviews: TransportRequest[] = [];
  readonly client: Client;
  readonly #stack = new AsyncDisposableStack();
  static #addresses = 0;

  constructor() {
    this.client = createClient(this.transport());
  }

  /** Adds TokenReview and SubjectAccessReview, which the in-memory API server does not have. */
  transport(): Transport {
    return {
      send: async (call) => this.#review(call) ?? this.api.send(call),
      stream: (call) => this.api.stream(call),
      close: () => Promise.resolve(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  /** Without authentication unless the options say otherwise. */
  async router(options: Partial<RouterOptions> = {}): Promise<Router> {
    const router = this.#stack.use(
      await startRouter({
        client: createClient(this.transport()),
        listen: { port: 0 },
        auth: { anonymous: true },
        shutdownMs: 500,
        ...options,
      }),
    );
    await router.ready;
    return router;
  }

  use<T extends AsyncDisposable | Disposable>(thing: T): T {
    return this.#stack.use(thing);
  }

  /** An unused loopback address. */
  static nextIp(): string {
    TestCluster.#addresses += 1;
    const place = (process.pid % 200) * 250 + TestCluster.#addresses;
    return `127.${20 + Math.floor(place / 65_536)}.${Math.floor(place / 256) % 256}.${(place % 254) + 1}`;
  }

  /** A server at a pod's address. */
  async serve(
    listener: RequestListener,
    { ip = TestCluster.nextIp(), port = 0 }: { ip?: string; port?: number } = {},
  ): Promise<Served> {
    const server = createServer(listener);
    server.listen({ host: ip, port });
    await once(server, "listening");
    const close = async (): Promise<void> => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    };
    this.#stack.defer(close);
    return { server, ip, port: (server.address() as { port: number }).port, close };
  }

  sandbox(
    name: string,
    over: { spec?: Partial<Sandbox["spec"]>; metadata?: Partial<Sandbox["metadata"]> } = {},
  ): Promise<Sandbox> {
    return this.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name, namespace: "default", ...over.metadata },
      spec: { podTemplate: { spec: { containers: [] } }, ...over.spec },
    });
  }

  /** A running pod of the Sandbox. */
  async pod(
    sandbox: Sandbox,
    ip: string,
    { name = sandbox.metadata.name ?? "", ready = true, annotations = {} }: PodOptions = {},
  ): Promise<void> {
    const namespace = sandbox.metadata.namespace ?? "default";
    const labels = { [sandboxNameHashLabel]: "hash" };
    await this.client.create(pods, {
      metadata: { name, namespace, labels, annotations, ownerReferences: [ownedBy(sandbox)] },
    });
    await this.podStatus(sandbox, { ip, name, ready });
  }

  async podStatus(
    sandbox: Sandbox,
    { ip, name = sandbox.metadata.name ?? "", ready = true }: { ip: string; name?: string; ready?: boolean },
  ): Promise<void> {
    const namespace = sandbox.metadata.namespace ?? "default";
    const conditions = [{ type: "Ready", status: ready ? "True" : "False" }];
    const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
    await this.client.patch(pods, { namespace, name }, { type: "merge", body: { status } }, { subresource: "status" });
  }

  /** The Secret with the runtime's token, as the controller creates it. */
  async runtimeToken(sandbox: Sandbox, token: string): Promise<void> {
    const { name = "", namespace = "default" } = sandbox.metadata;
    const metadata = { name: `${name}-runtime`, namespace, ownerReferences: [ownedBy(sandbox)] };
    await this.client.create(secrets, { metadata, data: { token: Buffer.from(token).toString("base64") } });
  }

  async removePod(name: string, namespace = "default"): Promise<void> {
    await this.client.delete(pods, { namespace, name });
  }

  async sandboxStatus(sandbox: Sandbox, status: object): Promise<void> {
    const { name = "", namespace = "" } = sandbox.metadata;
    await this.client.patch(
      sandboxes,
      { namespace, name },
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
  }

  /** Suspended by the controller because it was idle. */
  suspendIdle(sandbox: Sandbox, at = "2026-01-01T00:00:00Z"): Promise<void> {
    const suspended = { type: "Suspended", status: "True", reason: "Idle", message: "", lastTransitionTime: at };
    return this.sandboxStatus(sandbox, { conditions: [suspended] });
  }

  #review({ path, body }: TransportRequest) {
    if (!path.includes("reviews")) return undefined;
    const { spec } = body as { spec: Record<string, never> };
    this.reviews.push({ method: "POST", path, body });
    const status = path.includes("tokenreviews") ? this.#whose(spec) : this.#mayThey(spec);
    return { status: 201, headers: {}, body: { ...(body as object), status } };
  }

  #whose({ token, audiences }: { token?: string; audiences?: string[] }): object {
    const user = this.users.get(token ?? "");
    if (user === undefined) return { authenticated: false };
    return {
      authenticated: true,
      user: { username: user.username, groups: ["g"] },
      ...(audiences ? { audiences } : {}),
    };
  }

  #mayThey({
    user,
    resourceAttributes,
  }: {
    user?: string;
    resourceAttributes?: { namespace: string; name: string; verb: string };
  }): object {
    const { namespace, name, verb } = resourceAttributes ?? { namespace: "", name: "", verb: "" };
    const known = [...this.users.values()].find(({ username }) => username === user);
    return { allowed: verb === "connect" && known?.mayConnect.includes(`${namespace}/${name}`) === true };
  }
}

function ownedBy({ metadata: { name = "", uid = "" } }: Sandbox) {
  return { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true };
}

export interface PodOptions {
  readonly name?: string;
  readonly ready?: boolean;
  readonly annotations?: Record<string, string>;
}

export interface Served {
  readonly server: Server;
  readonly ip: string;
  readonly port: number;
  readonly close: () => Promise<void>;
}

export interface ResponseWriter {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly text: string;
}

/** Sends a request with Node's client, which does not normalise the target. */
export function ask(
  router: Router,
  path: string,
  { body, ...options }: RequestOptions & { body?: string | Buffer } = {},
): Promise<ResponseWriter> {
  const { host, port } = router.address ?? { host: "", port: 0 };
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path, agent: false, ...options }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => {
        const { statusCode: status = 0, headers, rawHeaders } = answer;
        resolve({ status, headers, rawHeaders, text: Buffer.concat(chunks).toString("utf8") });
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** The headers that name a sandbox. */
export function toSandbox(
  name: string,
  port: number,
  more: Record<string, string> = {},
): { headers: Record<string, string> } {
  return { headers: { "X-Sandbox-ID": name, "X-Sandbox-Port": String(port), ...more } };
}

/** An endless response. */
export function endless(response: ServerResponse): ServerResponse {
  const more = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
  return response;
}
