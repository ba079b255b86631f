/** Sandboxes of the box that keep their memory, used through the API and the router as a client does. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import { type Client, createClient, HttpTransport, Informers } from "@agent-sandbox/kube";
import type { NodeBox } from "../node/box.ts";
import { Watched } from "../node/watched.ts";
import { port, serverCommand } from "./program.ts";

const namespace = "default";

export class StateBox implements AsyncDisposable {
  readonly #box: NodeBox;
  readonly #client: Client;
  readonly #sandboxes: Watched<Sandbox>;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #owned = new AsyncDisposableStack();

  constructor(box: NodeBox) {
    this.#box = box;
    this.#client = createClient(new HttpTransport(box.access), { fieldManager: "bench" });
    this.#owned.defer(() => this.#client.close());
    this.#owned.defer(() => this.#agent.destroy());
    const informers = this.#owned.use(new Informers({ client: this.#client }));
    this.#sandboxes = new Watched(informers.get(sandboxes, { namespace }), namespace);
  }

  /** Creates a Sandbox with a server and waits until it answers. */
  async create(name: string, memoryMib: number, idleSeconds?: number): Promise<void> {
    const container = { name: "main", image: "host", command: serverCommand({ memoryMib }) };
    const podTemplate = { spec: { runtimeClassName: "gvisor", containers: [container] } };
    const spec = {
      suspendPolicy: { depth: "Memory", fallback: "Refuse" },
      ...(idleSeconds !== undefined && { idlePolicy: { suspendAfterSeconds: idleSeconds } }),
      podTemplate,
    };
    await this.#client.create(sandboxes, { metadata: { name, namespace }, spec } as unknown as Sandbox);
    await this.#sandboxes.until(name, isReady);
    // The server listens when it has filled its memory.
    while ((await this.request(name).catch(() => 0)) === 0);
  }

  /** From the API request until the watch shows that the memory is saved. */
  async suspend(name: string): Promise<number> {
    const started = performance.now();
    await this.#setMode(name, "Suspended");
    return (await this.asleep(name)) - started;
  }

  /** Resolves when the watch shows that the memory is saved and the Sandbox is suspended. */
  asleep(name: string): Promise<number> {
    return this.#sandboxes.until(name, isAsleep);
  }

  /** From the API request until the watch shows the Sandbox as Ready. */
  async resume(name: string): Promise<number> {
    const started = performance.now();
    await this.#setMode(name, "Running");
    return (await this.#sandboxes.until(name, isReady)) - started;
  }

  /** The size of the last image. */
  imageBytes(name: string): number {
    return this.#sandboxes.get(name)?.status?.suspension?.sizeBytes ?? Number.NaN;
  }

  /** Sends a request through the router. Returns the number of requests that the server has answered. */
  async request(name: string): Promise<number> {
    const { routerUrl } = JSON.parse(readFileSync(join(this.#box.dataDir, "box.json"), "utf8"));
    const { authorization = "" } = await this.#box.access.credentials.get();
    const headers = { host: `${port}-${name}.${namespace}.localhost`, authorization };
    const sent = request(routerUrl, { agent: this.#agent, headers }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const body = await text(response);
    if (response.statusCode !== 200) throw new Error(`Cannot measure: the router answered ${body}`);
    return Number(body);
  }

  async delete(name: string): Promise<void> {
    await this.#client.delete(sandboxes, { namespace, name });
    await this.#sandboxes.until(name, (sandbox) => sandbox === undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  async #setMode(name: string, operatingMode: "Running" | "Suspended"): Promise<void> {
    const body = { spec: { operatingMode } };
    await this.#client.patch(sandboxes, { namespace, name }, { type: "merge", body });
  }
}

function conditionOf(sandbox: Sandbox | undefined, type: string): string | undefined {
  return sandbox?.status?.conditions?.find((condition) => condition.type === type)?.status;
}

const isReady = (sandbox: Sandbox | undefined): boolean => conditionOf(sandbox, "Ready") === "True";

function isAsleep(sandbox: Sandbox | undefined): boolean {
  const { depth, restored } = sandbox?.status?.suspension ?? {};
  return conditionOf(sandbox, "Suspended") === "True" && depth === "Memory" && restored === undefined;
}
