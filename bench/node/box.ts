/** The box as it is released, and a client in this process that uses HTTPS and a watch. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, get } from "node:https";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "@agent-sandbox/api";
import {
  type Client,
  type ClusterAccess,
  createClient,
  HttpTransport,
  Informers,
  loadDefault,
} from "@agent-sandbox/kube";
import { execProtocol, runExec } from "../../packages/cli/src/client/exec-channel.ts";
import { openSocket } from "../../packages/cli/src/client/pod-socket.ts";
import { requestOptions } from "../../packages/cli/src/client/raw-request.ts";
import { layoutOf } from "../../packages/node/src/layout.ts";
import { pods } from "../../packages/node/src/resources.ts";
import { Box, buildCommandLine } from "../../test/e2e/box.ts";
import { Watched } from "./watched.ts";

export type RuntimeName = "runc" | "gvisor";

const namespace = "default";

export class NodeBox implements AsyncDisposable {
  readonly dataDir: string;
  readonly access: ClusterAccess;
  readonly #owned: AsyncDisposableStack;
  readonly #client: Client;
  readonly #agent: Agent = new Agent({ keepAlive: true });
  readonly #pods: Watched<Pod>;

  private constructor(dataDir: string, access: ClusterAccess, owned: AsyncDisposableStack) {
    this.dataDir = dataDir;
    this.access = access;
    this.#owned = owned;
    owned.defer(() => this.#agent.destroy());
    this.#client = createClient(new HttpTransport(access), { fieldManager: "bench" });
    owned.defer(() => this.#client.close());
    const informers = owned.use(new Informers({ client: this.#client }));
    this.#pods = new Watched(informers.get(pods, { namespace }), namespace);
  }

  static async start(): Promise<NodeBox> {
    buildCommandLine();
    // Not in /tmp, which is in memory on many machines: writes must reach a disk.
    process.env["TMPDIR"] ??= "/var/tmp";
    await using starting = new AsyncDisposableStack();
    const box = starting.use(await Box.make());
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(`Cannot measure: the box does not start: ${stderr}`);
    const { access, error } = await loadDefault({ path: box.kubeconfig });
    if (error !== undefined) throw new Error(`Cannot measure: ${error}`);
    return new NodeBox(box.dataDir, access, starting.move());
  }

  async create(name: string, runtime: RuntimeName, command: readonly string[]): Promise<Pod> {
    const container = { name: "main", image: "host", command };
    const spec = { runtimeClassName: runtime, restartPolicy: "Never", containers: [container] };
    return await this.#client.create(pods, { metadata: { name, namespace }, spec } as unknown as Pod);
  }

  /** Resolves when the watch shows the Pod Running. */
  running(name: string): Promise<number> {
    return this.#pods.until(name, (pod) => pod?.status?.phase === "Running");
  }

  /** Resolves when the first byte of the Pod's output arrives here. */
  async firstOutput(name: string): Promise<number> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?follow=true`;
    const { url, ...options } = await requestOptions(this.access, path);
    const [response] = (await once(get(url, { ...options, agent: this.#agent }), "response")) as [IncomingMessage];
    await once(response, "data");
    const now = performance.now();
    response.destroy();
    return now;
  }

  /** Runs a command as kubectl does, on a new connection. Returns its exit code. */
  async exec(name: string, command: readonly string[]): Promise<number> {
    const query = new URLSearchParams({ stdout: "true", stderr: "true" });
    for (const word of command) query.append("command", word);
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/exec?${query.toString()}`;
    const socket = await openSocket(this.access, path, execProtocol);
    const stdout = new PassThrough().resume();
    return await runExec(socket, { stdin: undefined, stdout, stderr: new PassThrough().resume() });
  }

  /** Deletes the Pod and waits until it is gone from the machine, so that its end does not disturb the next measurement. */
  async remove({ metadata }: Pod): Promise<void> {
    const { name = "", uid = "" } = metadata ?? {};
    await this.#client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
    // The folder is removed last, except for the firewall rules.
    while (existsSync(join(layoutOf(this.dataDir).podsDir, uid))) await sleep(10);
    await sleep(100);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
