import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Sandbox, sandboxes, sandboxNameHashLabel } from "@agent-sandbox/api";
import { createApiServer } from "@agent-sandbox/apiserver";
import { type Client, createClient, type KubeObject, type Resource } from "@agent-sandbox/kube";
import { signingKey } from "../../packages/router/src/auth/keyring.ts";
import { mintV1 } from "../../packages/router/src/auth/scoped-token.ts";
import { tokensNotBeforeAnnotation } from "../../packages/router/src/auth/token-scope.ts";
import { RouterProcess } from "./router-process.ts";

const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
const namespace = "default";
const secret = "k".repeat(64);

/** An API server, sandboxes whose Pods are servers in this process, and routers as separate processes. */
export class RouterWorld implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;
  readonly #client: Client;
  readonly #folder: string;
  #addresses = 0;

  private constructor(stack: AsyncDisposableStack, client: Client, folder: string) {
    this.#stack = stack;
    this.#client = client;
    this.#folder = folder;
  }

  static async open(): Promise<RouterWorld> {
    await using undo = new AsyncDisposableStack();
    const folder = undo.adopt(mkdtempSync(join(tmpdir(), "router-")), (made) => rmSync(made, { recursive: true }));
    const server = undo.use(await createApiServer({ nodeName: "node-1", freezeObjects: true }));
    (await server.listen()).writeKubeconfig(join(folder, "kubeconfig"));
    writeFileSync(join(folder, "key"), secret, { mode: 0o600 });
    return new RouterWorld(undo.move(), createClient(server.transport), folder);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** A router that accepts only scoped tokens. `port` is that of an earlier router. */
  startRouter(port = 0): RouterProcess {
    const flags = [
      `--kubeconfig=${join(this.#folder, "kubeconfig")}`,
      "--authz-mode=scoped-token",
      `--authz-scoped-token-secret-file=${join(this.#folder, "key")}`,
      `--http-bind-address=127.0.0.1:${port}`,
    ];
    return this.#stack.use(new RouterProcess(flags));
  }

  tokenFor(name: string): string {
    const key = signingKey(secret);
    if ("error" in key) throw new Error(key.error);
    return mintV1({ ns: namespace, name, exp: Math.floor(Date.now() / 1000) + 3600 }, key);
  }

  /** A running sandbox. `port` is that of its server, which sandboxes may share. */
  async sandbox(name: string, listener: RequestListener, port = 0): Promise<{ server: Server; port: number }> {
    this.#addresses += 1;
    const ip = `127.78.${process.pid % 250}.${this.#addresses}`;
    const server = createServer(listener);
    this.#stack.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server.listen(port, ip), "listening");
    await this.#objects(name, ip);
    return { server, port: (server.address() as AddressInfo).port };
  }

  /** Revokes the tokens that were issued before now. */
  async revokeTokens(name: string): Promise<void> {
    const later = new Date(Date.now() + 1000).toISOString();
    const patch = {
      type: "merge",
      body: { metadata: { annotations: { [tokensNotBeforeAnnotation]: later } } },
    } as const;
    await this.#client.patch(sandboxes, { namespace, name }, patch);
  }

  /** A sandbox without a Pod, suspended for `reason`. `wake` starts its Pod, as the controller would. */
  async sleepingSandbox(name: string, spec: object, reason: string) {
    this.#addresses += 1;
    const ip = `127.78.${process.pid % 250}.${this.#addresses}`;
    const server = createServer((_request, response) => void response.end("awake"));
    this.#stack.defer(() => void server.close());
    await once(server.listen(0, ip), "listening");
    await this.#create(name, spec);
    const setCondition = async (status: "True" | "False"): Promise<Sandbox> => {
      const lastTransitionTime = "2026-01-01T00:00:00Z";
      const conditions = [{ type: "Suspended", status, reason, message: "", lastTransitionTime }];
      const patch = { type: "merge", body: { status: { conditions } } } as const;
      return await this.#client.patch(sandboxes, { namespace, name }, patch, { subresource: "status" });
    };
    const { metadata } = await setCondition("True");
    const seen: string[] = [];
    const over = new AbortController();
    this.#stack.defer(() => over.abort());
    const watched = { namespace, resourceVersion: metadata.resourceVersion ?? "", signal: over.signal };
    const events = await this.#client.watch(sandboxes, watched);
    const collected = (async () => {
      for await (const batch of events) {
        for (const { object } of batch) {
          const { annotations, name: changed } = object.metadata;
          const written = JSON.stringify([annotations, object.spec?.operatingMode]);
          if (changed === name && seen.at(-1) !== written) seen.push(written);
        }
      }
    })();
    collected.catch(() => undefined);
    return {
      port: (server.address() as AddressInfo).port,
      wake: async (): Promise<void> => {
        await this.#pod(name, metadata.uid ?? "", ip);
        await setCondition("False");
      },
      /** How often routers have changed the annotations or the mode. */
      routerWrites: (): number => seen.length,
    };
  }

  async #create(name: string, spec: object = {}): Promise<Sandbox> {
    const containers = [{ name: "main", image: "host" }];
    const apiVersion = "agents.x-k8s.io/v1beta1";
    return await this.#client.create(sandboxes, {
      apiVersion,
      kind: "Sandbox",
      metadata: { name, namespace },
      spec: { podTemplate: { spec: { containers } }, ...spec },
    });
  }

  async #objects(name: string, ip: string): Promise<void> {
    const { metadata } = await this.#create(name);
    await this.#pod(name, metadata.uid ?? "", ip);
  }

  async #pod(name: string, uid: string, ip: string): Promise<void> {
    const apiVersion = "agents.x-k8s.io/v1beta1";
    const containers = [{ name: "main", image: "host" }];
    const owner = { apiVersion, kind: "Sandbox", name, uid, controller: true };
    const labels = { [sandboxNameHashLabel]: "hash" };
    await this.#client.create(pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels, ownerReferences: [owner] },
      spec: { containers },
    } as KubeObject);
    const conditions = [{ type: "Ready", status: "True" }];
    const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
    const patch = { type: "merge", body: { status } } as const;
    await this.#client.patch(pods, { namespace, name }, patch, { subresource: "status" });
  }
}
