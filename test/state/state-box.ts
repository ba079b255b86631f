import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Condition,
  findCondition,
  type Sandbox,
  type SandboxSnapshot,
  type SandboxSnapshotSpec,
  type SandboxSpec,
  sandboxes,
  sandboxSnapshots,
} from "@agent-sandbox/api";
import {
  type Client,
  type ClusterAccess,
  createClient,
  HttpTransport,
  isReason,
  type KubeObject,
  loadKubeconfig,
  type Resource,
} from "@agent-sandbox/kube";
import { parse } from "yaml";
import { execProtocol, runExec } from "../../packages/cli/src/client/exec-channel.ts";
import { openSocket } from "../../packages/cli/src/client/pod-socket.ts";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

/** Whether this machine cannot run a box. The reason is printed. */
export const cannotRun: boolean = reason !== undefined;

export const namespace = "default";
export const soon = { timeout: 60_000, interval: 100 } as const;

/** The policy of a Sandbox that must keep its memory. */
export const keepMemory = { depth: "Memory", fallback: "Refuse" } as const;

/** A Pod template whose only container runs this command. */
export function podOf(command: readonly string[], more: object = {}): SandboxSpec["podTemplate"] {
  const container = { name: "main", image: "host", command, ...more };
  // Most programs of the tests do not handle SIGTERM.
  return { spec: { terminationGracePeriodSeconds: 1, containers: [container] } } as SandboxSpec["podTemplate"];
}

/** Waits until nothing is missing any more. Throws what is missing after that time. */
async function until(missing: () => Promise<string | undefined>, timeoutMs: number = soon.timeout): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await missing();
    if (found === undefined) return;
    if (Date.now() > deadline) throw new Error(found);
    await sleep(soon.interval);
  }
}

type WithConditions = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };

/** A running box with a client of its API. The operations wait for their result, and fail with what the object says. */
export class StateBox implements AsyncDisposable {
  readonly box: Box;
  readonly client: Client;
  readonly #access: ClusterAccess;

  private constructor(box: Box, access: ClusterAccess) {
    this.box = box;
    this.#access = access;
    this.client = createClient(new HttpTransport(access));
  }

  /** Starts a box in the background. */
  static async start(...flags: string[]): Promise<StateBox> {
    buildCommandLine();
    const box = await Box.make();
    const { code, stderr } = await box.up(...flags);
    if (code !== 0) throw new Error(`Cannot start the box: ${stderr}`);
    return StateBox.of(box);
  }

  /** Connects to a box that runs. */
  static async of(box: Box): Promise<StateBox> {
    const { access, error } = await loadKubeconfig({ path: box.kubeconfig });
    if (error !== undefined) throw new Error(error);
    return new StateBox(box, access);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.box[Symbol.asyncDispose]();
  }

  /** Creates a Sandbox that keeps its memory, unless `spec` says otherwise. */
  create(name: string, spec: Partial<SandboxSpec>): Promise<Sandbox> {
    return this.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { namespace, name },
      spec: { suspendPolicy: keepMemory, ...spec },
    } as Sandbox);
  }

  read(name: string): Promise<Sandbox> {
    return this.client.get(sandboxes, { namespace, name });
  }

  change(name: string, spec: object): Promise<Sandbox> {
    return this.client.patch(sandboxes, { namespace, name }, { type: "merge", body: { spec } });
  }

  async condition(name: string, type: string, resource?: Resource<WithConditions>): Promise<Condition | undefined> {
    const { status } = await this.client.get<WithConditions>(resource ?? sandboxes, { namespace, name });
    return findCondition(status?.conditions, type);
  }

  /** Waits until a condition is True. A failure shows what it was instead. */
  async until(
    name: string,
    type: string,
    resource: Resource<WithConditions> = sandboxes,
    timeoutMs?: number,
  ): Promise<void> {
    await until(async () => {
      const found = await this.condition(name, type, resource);
      return found?.status === "True" ? undefined : `${name} is not ${type}: ${found?.reason}: ${found?.message}`;
    }, timeoutMs);
  }

  async ready(...names: string[]): Promise<void> {
    // Many Sandboxes that start together wait for each other.
    const timeoutMs = soon.timeout + 3000 * names.length;
    await Promise.all(names.map((name) => this.until(name, "Ready", sandboxes, timeoutMs)));
  }

  /** Creates a Sandbox and waits until it is ready. */
  async run(name: string, spec: Partial<SandboxSpec>): Promise<Sandbox> {
    await this.create(name, spec);
    await this.ready(name);
    return this.read(name);
  }

  async suspend(name: string): Promise<void> {
    await this.change(name, { operatingMode: "Suspended" });
    await this.until(name, "Suspended");
  }

  async resume(name: string, more: object = {}): Promise<void> {
    await this.change(name, { operatingMode: "Running", ...more });
    await this.ready(name);
  }

  /** Takes a snapshot of a Sandbox and waits until it is ready. */
  async snapshot(name: string, sandbox: string, spec: Partial<SandboxSnapshotSpec> = {}): Promise<SandboxSnapshot> {
    await this.client.create(sandboxSnapshots, {
      apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
      kind: "SandboxSnapshot",
      metadata: { namespace, name },
      spec: { sandboxRef: { name: sandbox }, ...spec },
    });
    await this.until(name, "Ready", sandboxSnapshots);
    return this.client.get(sandboxSnapshots, { namespace, name });
  }

  /** Deletes a Sandbox, and waits until it is gone. */
  async delete(name: string): Promise<void> {
    await this.client.delete(sandboxes, { namespace, name });
    await until(async () => ((await this.exists(sandboxes, name)) ? `${name} still exists` : undefined));
  }

  async exists<T extends KubeObject>(resource: Resource<T>, name: string): Promise<boolean> {
    try {
      await this.client.get(resource, { namespace, name });
      return true;
    } catch (error) {
      if (isReason(error, "NotFound")) return false;
      throw error;
    }
  }

  /** Runs a shell script in the Pod of a Sandbox and returns its output. Throws if it fails. */
  async shell(name: string, script: string, container = "main"): Promise<string> {
    const query = new URLSearchParams({ container, stdout: "true", stderr: "true" });
    for (const word of ["sh", "-c", script]) query.append("command", word);
    const [code, said, complaint] = await this.#session(`pods/${name}/exec?${query.toString()}`);
    if (code !== 0) throw new Error(`"${script}" ended with ${code} in ${name}: ${said}${complaint}`);
    return said.trimEnd();
  }

  /** Attaches to the first process of a Sandbox, until the session ends. */
  async attach(name: string): Promise<string> {
    return (await this.#session(`pods/${name}/attach?container=main&stdout=true&stderr=true`)).join();
  }

  async #session(path: string): Promise<[code: number, stdout: string, stderr: string]> {
    const socket = await openSocket(this.#access, `/api/v1/namespaces/${namespace}/${path}`, execProtocol);
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const outputs = Promise.all([text(stdout), text(stderr)]);
    const code = await runExec(socket, { stdin: undefined, stdout, stderr }).finally(() => {
      stdout.end();
      stderr.end();
    });
    return [code, ...(await outputs)];
  }

  /** The address of the router, which changes when the box starts again. */
  router(): URL {
    const { routerUrl } = JSON.parse(readFileSync(join(this.box.dataDir, "box.json"), "utf8")) as { routerUrl: string };
    return new URL(routerUrl);
  }

  /** The credential of the box's administrator. */
  token(): string {
    const config = parse(readFileSync(this.box.kubeconfig, "utf8")) as { users: { user: { token: string } }[] };
    return config.users[0]?.user.token ?? "";
  }

  /** The body of a response of a Sandbox, through the router. */
  async get(name: string, port = 8000, path = "/"): Promise<string> {
    const headers = { host: `${port}-${name}.${namespace}.localhost`, authorization: `Bearer ${this.token()}` };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(new URL(path, this.router()), { headers, agent: false })
        .once("response", resolve)
        .once("error", reject)
        .end();
    });
    const body = await text(response);
    if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${body}`);
    return body;
  }
}
