import type { Method, WatchEvent } from "@agent-sandbox/kube";
import type { ApiServer, ApiServerOptions } from "../api-server.ts";
import { createApiServer } from "../create-api-server.ts";

export interface TestObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Record<string, unknown> & { name: string; uid: string; resourceVersion: string };
  readonly spec?: Record<string, unknown>;
  readonly status?: Record<string, unknown>;
  readonly [key: string]: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

/** A server in memory with its own clock, and short methods for requests. */
export class TestApi implements AsyncDisposable {
  readonly server: ApiServer;
  readonly clock: { atMs: number };

  private constructor(server: ApiServer, clock: { atMs: number }) {
    this.server = server;
    this.clock = clock;
  }

  static async start(options: ApiServerOptions = {}): Promise<TestApi> {
    const clock = { atMs: Date.parse("2026-01-01T00:00:00Z") };
    const server = await createApiServer({ clock: { now: () => clock.atMs }, freezeObjects: true, ...options });
    return new TestApi(server, clock);
  }

  async send(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.server.transport.send({ method, path, headers, ...(body === undefined ? {} : { body }) });
  }

  async create(path: string, body: unknown): Promise<TestObject> {
    const answer = await this.send("POST", path, body);
    if (answer.status !== 201) throw new Error(`create: ${answer.status} ${answer.body.message}`);
    return answer.body as TestObject;
  }

  async get(path: string): Promise<TestObject> {
    const answer = await this.send("GET", path);
    if (answer.status !== 200) throw new Error(`get: ${answer.status} ${answer.body.message}`);
    return answer.body as TestObject;
  }

  async merge(path: string, patch: unknown): Promise<Answer> {
    return this.send("PATCH", path, patch, { "content-type": "application/merge-patch+json" });
  }

  async json(path: string, patch: unknown): Promise<Answer> {
    return this.send("PATCH", path, patch, { "content-type": "application/json-patch+json" });
  }

  async strategic(path: string, patch: unknown): Promise<Answer> {
    return this.send("PATCH", path, patch, { "content-type": "application/strategic-merge-patch+json" });
  }

  /** Sends a server-side apply. `path` may contain a query. */
  async apply(path: string, manager: string, config: unknown): Promise<Answer> {
    const mark = path.includes("?") ? "&" : "?";
    const headers = { "content-type": "application/apply-patch+yaml" };
    return this.send("PATCH", `${path}${mark}fieldManager=${manager}`, config, headers);
  }

  async names(path: string): Promise<string[]> {
    const { body } = await this.send("GET", path);
    return body.items.map((item: TestObject) => item.metadata.name);
  }

  async watch(path: string): Promise<Watching> {
    const stop = new AbortController();
    const { status, events, body } = await this.server.transport.stream({ method: "GET", path, signal: stop.signal });
    if (events === undefined) throw new Error(`watch: ${status} ${JSON.stringify(body)}`);
    return new Watching(events, stop);
  }

  /** Resolves when an object has been deleted, using a watch. */
  async gone(collection: string, name: string): Promise<void> {
    const { body } = await this.send("GET", `${collection}?fieldSelector=metadata.name=${name}`);
    if (body.items.length === 0) return;
    const from = `fieldSelector=metadata.name=${name}&resourceVersion=${body.metadata.resourceVersion}`;
    const watching = await this.watch(`${collection}?watch=true&${from}`);
    for (let event = await watching.next(); event.type !== "DELETED"; ) event = await watching.next();
    watching.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }
}

export class Watching {
  readonly #events: AsyncIterator<readonly WatchEvent[]>;
  readonly #stop: AbortController;
  #batch: WatchEvent[] = [];

  constructor(events: AsyncIterable<readonly WatchEvent[]>, stop: AbortController) {
    this.#events = events[Symbol.asyncIterator]();
    this.#stop = stop;
  }

  async next(): Promise<{ type: WatchEvent["type"]; object: TestObject }> {
    while (this.#batch.length === 0) {
      const { done, value } = await this.#events.next();
      if (done === true) throw new Error("the watch has ended");
      this.#batch = [...value];
    }
    return this.#batch.shift() as never;
  }

  /** The next events as `TYPE name`. */
  async seen(count: number): Promise<string[]> {
    const seen: string[] = [];
    while (seen.length < count) {
      const { type, object } = await this.next();
      seen.push(`${type} ${object.metadata.name ?? ""}`.trim());
    }
    return seen;
  }

  async ended(): Promise<boolean> {
    return (await this.#events.next()).done === true;
  }

  stop(): void {
    this.#stop.abort();
  }
}

export const pods = "/api/v1/namespaces/default/pods";
export const configMaps = "/api/v1/namespaces/default/configmaps";
export const sandboxes = "/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes";

export const pod = (name: string, more: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...more },
  spec: { containers: [{ name: "main", image: "busybox:1" }] },
});

export const configMap = (name: string, more: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...more },
});

export const sandbox = (name: string, spec: object = {}): object => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name },
  spec: { podTemplate: { spec: { containers: [{ name: "main", image: "busybox:1" }] } }, ...spec },
});
