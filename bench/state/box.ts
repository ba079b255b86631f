/** Sandboxes of the box that keep their memory, used through the API and the router as a client does. */
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { type Sandbox, type SandboxSnapshot, sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { type Client, createClient, HttpTransport, Informers } from "@agent-sandbox/kube";
import { layoutOf, podPaths } from "../../packages/node/src/layout.ts";
import { pods } from "../../packages/node/src/resources.ts";
import type { NodeBox } from "../node/box.ts";
import { Watched } from "../node/watched.ts";
import { port, serverCommand } from "./program.ts";

const namespace = "default";
const releasePollMs = 20;

export class StateBox implements AsyncDisposable {
  readonly #box: NodeBox;
  readonly #client: Client;
  readonly #sandboxes: Watched<Sandbox>;
  readonly #snapshots: Watched<SandboxSnapshot>;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #owned = new AsyncDisposableStack();

  constructor(box: NodeBox) {
    this.#box = box;
    this.#client = createClient(new HttpTransport(box.access), { fieldManager: "bench" });
    this.#owned.defer(() => this.#client.close());
    this.#owned.defer(() => this.#agent.destroy());
    const informers = this.#owned.use(new Informers({ client: this.#client }));
    this.#sandboxes = new Watched(informers.get(sandboxes, { namespace }), namespace);
    this.#snapshots = new Watched(informers.get(sandboxSnapshots, { namespace }), namespace);
  }

  /** Creates a Sandbox with a server and waits until it answers. */
  async create(name: string, memoryMib: number, idleSeconds?: number): Promise<void> {
    const idlePolicy = { suspendAfterSeconds: idleSeconds };
    await this.#create(name, serverCommand({ memoryMib }), idleSeconds === undefined ? {} : { idlePolicy });
    await this.#sandboxes.until(name, isReady);
    // The server listens when it has filled its memory.
    while ((await this.request(name).catch(() => 0)) === 0);
  }

  /** Creates a Sandbox that runs a command, and that may sleep while connections are open. */
  async createWithConnections(name: string, command: readonly string[]): Promise<void> {
    await this.#create(name, command, { idlePolicy: { suspendAfterSeconds: 600, connections: "MaySleep" } });
    await this.#sandboxes.until(name, isReady);
  }

  /** Opens a tunnel through the router to the server of a Sandbox. */
  async connect(name: string): Promise<Socket> {
    const { routerUrl, headers } = await this.#router(name);
    const path = `${name}.${namespace}.localhost:${port}`;
    const tunnel = { host: path, "proxy-authorization": headers.authorization };
    const sent = request(routerUrl, { method: "CONNECT", path, headers: tunnel }).end();
    const [response, socket] = (await once(sent, "connect")) as [IncomingMessage, Socket];
    if (response.statusCode === 200) return socket;
    throw new Error(`Cannot measure: the router answered ${response.statusCode} to CONNECT`);
  }

  /** From the API request until the watch shows that the memory is saved. */
  async suspend(name: string): Promise<number> {
    const started = performance.now();
    await this.#setMode(name, "Suspended");
    return (await this.asleep(name)) - started;
  }

  /** The same, and waits until the node has removed what was left of the Pod. That wait is not part of the result. */
  async suspendAndRelease(name: string): Promise<number> {
    const { metadata } = await this.#client.get(pods, { namespace, name });
    const taken = await this.suspend(name);
    const { dir } = podPaths(layoutOf(this.#box.dataDir), metadata?.uid ?? "");
    while (existsSync(dir)) await sleep(releasePollMs);
    return taken;
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

  /** Takes a snapshot of a running Sandbox. Returns for how long the Sandbox was paused. */
  async snapshot(name: string, source: string): Promise<number> {
    const spec = { sandboxRef: { name: source }, depth: "Memory" };
    await this.#client.create(sandboxSnapshots, { metadata: { name, namespace }, spec } as unknown as SandboxSnapshot);
    await this.#snapshots.until(name, isReady);
    return this.#snapshots.get(name)?.status?.pauseMilliseconds ?? Number.NaN;
  }

  async deleteSnapshot(name: string): Promise<void> {
    await this.#client.delete(sandboxSnapshots, { namespace, name });
    await this.#snapshots.until(name, (snapshot) => snapshot === undefined);
  }

  /** From the API request until the watch shows a Sandbox that starts from the snapshot as Ready. */
  async fork(name: string, snapshot: string, memoryMib: number): Promise<number> {
    const started = performance.now();
    await this.#create(name, serverCommand({ memoryMib }), { restoreFrom: { snapshotRef: { name: snapshot } } });
    return (await this.#sandboxes.until(name, isReady)) - started;
  }

  /** Sends a request through the router. Returns the number of requests that the server has answered. */
  async request(name: string): Promise<number> {
    const { routerUrl, headers } = await this.#router(name);
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

  async #router(name: string): Promise<{ routerUrl: string; headers: { host: string; authorization: string } }> {
    const { routerUrl } = JSON.parse(readFileSync(join(this.#box.dataDir, "box.json"), "utf8"));
    const { authorization = "" } = await this.#box.access.credentials.get();
    return { routerUrl, headers: { host: `${port}-${name}.${namespace}.localhost`, authorization } };
  }

  async #create(name: string, command: readonly string[], more: object): Promise<void> {
    const container = { name: "main", image: "host", command };
    const podTemplate = { spec: { runtimeClassName: "gvisor", containers: [container] } };
    const spec = { suspendPolicy: { depth: "Memory", fallback: "Refuse" }, podTemplate, ...more };
    await this.#client.create(sandboxes, { metadata: { name, namespace }, spec } as unknown as Sandbox);
  }

  async #setMode(name: string, operatingMode: "Running" | "Suspended"): Promise<void> {
    const body = { spec: { operatingMode } };
    await this.#client.patch(sandboxes, { namespace, name }, { type: "merge", body });
  }
}

function conditionOf(object: Sandbox | SandboxSnapshot | undefined, type: string): string | undefined {
  return object?.status?.conditions?.find((condition) => condition.type === type)?.status;
}

const isReady = (object: Sandbox | SandboxSnapshot | undefined): boolean => conditionOf(object, "Ready") === "True";

function isAsleep(sandbox: Sandbox | undefined): boolean {
  const { depth, restored } = sandbox?.status?.suspension ?? {};
  return conditionOf(sandbox, "Suspended") === "True" && depth === "Memory" && restored === undefined;
}
