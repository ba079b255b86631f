/** A box with a pool of warm sandboxes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type SandboxTemplate, type SandboxWarmPool, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import { type Client, createClient, HttpTransport } from "@agent-sandbox/kube";
import { NodeBox } from "../node/box.ts";
import type { PlainRoute } from "./plain-http.ts";

const namespace = "default";
const members = 2;

export class PoolBox implements AsyncDisposable {
  readonly pool = "bench";
  readonly #box: NodeBox;
  readonly #client: Client;

  private constructor(box: NodeBox) {
    this.#box = box;
    this.#client = createClient(new HttpTransport(box.access), { fieldManager: "bench" });
  }

  /** The containers of the pool get these variables. */
  static async start({ environment = {} }: { environment?: Readonly<Record<string, string>> } = {}): Promise<PoolBox> {
    const started = new PoolBox(await NodeBox.start());
    await started.#createPool(Object.entries(environment).map(([name, value]) => ({ name, value })));
    return started;
  }

  get dataDir(): string {
    return this.#box.dataDir;
  }

  /** A pool of the same template whose sandboxes are started when they are claimed. */
  async createEmptyPool(name: string): Promise<void> {
    const spec = { replicas: 0, sandboxTemplateRef: { name: this.pool } };
    await this.#client.create(sandboxWarmPools, { metadata: { name, namespace }, spec } as SandboxWarmPool);
  }

  async #createPool(env: readonly object[]): Promise<void> {
    const metadata = { name: this.pool, namespace };
    const podTemplate = { spec: { containers: [{ name: "main", image: "host", env }] } };
    const template = { metadata, spec: { runtime: "Injected", podTemplate } } as unknown as SandboxTemplate;
    await this.#client.create(sandboxTemplates, template);
    const spec = { replicas: members, sandboxTemplateRef: { name: this.pool } };
    await this.#client.create(sandboxWarmPools, { metadata, spec } as SandboxWarmPool);
  }

  /** Waits until every member of the pool is ready, and the machine is quiet again. */
  async fullPool(): Promise<void> {
    for (;;) {
      const { status } = await this.#client.get(sandboxWarmPools, { namespace, name: this.pool });
      if (status?.replicas === members && status.readyReplicas === members) break;
      await sleep(20);
    }
    await sleep(200);
  }

  /** The route of the files of a sandbox, for requests without the SDK. */
  async plain(sandbox: string): Promise<PlainRoute> {
    const { routerUrl } = JSON.parse(readFileSync(join(this.dataDir, "box.json"), "utf8")) as { routerUrl: string };
    const { authorization = "" } = await this.#box.access.credentials.get();
    const headers = {
      authorization,
      "x-sandbox-id": sandbox,
      "x-sandbox-namespace": namespace,
      "x-sandbox-port": "8080",
    };
    return { url: `${routerUrl}/v1/files`, headers };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    await this.#box[Symbol.asyncDispose]();
  }
}
