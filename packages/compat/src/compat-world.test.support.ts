import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  claimUidLabel,
  type Sandbox,
  type SandboxClaim,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import { type Client, createClient } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { type Compat, startCompat } from "./start-compat.ts";

export const namespace = "team-a";

/** An in-memory API server that gives claims their Sandboxes, a router that answers for all of them, and listeners. */
export class CompatWorld implements AsyncDisposable {
  readonly server: MemoryApiServer;
  readonly client: Client;
  /** Claims are bound, and Sandboxes follow their operating mode. */
  isWorking = true;
  readonly #owned = new AsyncDisposableStack();
  #router: URL | undefined;

  private constructor() {
    const secrets = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true } as const;
    this.server = new MemoryApiServer({
      resources: [
        { ...sandboxes, status: true },
        { ...sandboxClaims, status: true },
        { ...sandboxSnapshots, status: true },
        sandboxTemplates,
        sandboxWarmPools,
        secrets,
      ],
    });
    this.client = createClient(this.server);
    this.server.onChange(() => queueMicrotask(() => void this.work()));
  }

  static async start(): Promise<CompatWorld> {
    const world = new CompatWorld();
    const router = createServer((_request, response) => response.end("user:x:1000:1000::/home/user:/bin/sh\n"));
    router.listen(0, "127.0.0.1");
    await once(router, "listening");
    world.#router = new URL(`http://127.0.0.1:${(router.address() as AddressInfo).port}`);
    world.#owned.defer(() => {
      router.closeAllConnections();
      router.close();
    });
    return world;
  }

  /** Another server on the same objects. */
  async listen(client: Client = this.client): Promise<Compat> {
    const compat = await startCompat({
      client,
      clientFor: () => client,
      callers: {
        userOf: async (token) => ({ username: `system:serviceaccount:${namespace}:${token}` }),
        mayConnect: async () => true,
      },
      tokens: {
        mint: ({ metadata: { uid } }, { ports }) => `${uid}/${ports?.join()}`,
        mintAll: ({ metadata: { uid } }, { ports }) => [`${uid}/${ports?.join()}`],
        verify: () => undefined,
        isRevoked: () => false,
      },
      router: this.#router as URL,
      listen: { host: "127.0.0.1", port: 0 },
    });
    this.#owned.use(compat);
    await compat.ready;
    return compat;
  }

  claims(): SandboxClaim[] {
    return this.server.readAll(sandboxClaims);
  }

  sandboxes(): Sandbox[] {
    return this.server.readAll(sandboxes);
  }

  /** What the controllers do, until nothing is left to do. */
  async work(): Promise<void> {
    if (!this.isWorking) return;
    for (const claim of this.claims()) if (claim.status?.sandbox === undefined) await this.#bind(claim);
    for (const sandbox of this.sandboxes()) await this.#follow(sandbox);
  }

  async #bind({ metadata: { name = "", uid = "" } }: SandboxClaim): Promise<void> {
    const labels = { [claimUidLabel]: uid };
    const { apiVersion, kind } = sandboxClaims;
    const ownerReferences = [{ apiVersion, kind, name, uid, controller: true }];
    const spec = { operatingMode: "Running", podTemplate: { spec: { containers: [] } } };
    const body = { metadata: { name: `${name}-box`, namespace, labels, ownerReferences }, spec };
    await this.client.create(sandboxes, body as unknown as Sandbox).catch(() => undefined);
    const status = { sandbox: { name: `${name}-box` }, conditions: [{ type: "Ready", status: "True" }] };
    await this.#setStatus(sandboxClaims, name, status);
  }

  async #follow({ metadata: { name = "", generation }, spec, status }: Sandbox): Promise<void> {
    const isSuspended = spec.operatingMode === "Suspended";
    const states = { Ready: !isSuspended, Suspended: isSuspended };
    const conditions = Object.entries(states).map(([type, is]) => {
      return { type, status: is ? "True" : "False", observedGeneration: generation };
    });
    if (JSON.stringify(status?.conditions) === JSON.stringify(conditions)) return;
    await this.#setStatus(sandboxes, name, { conditions });
  }

  async #setStatus(resource: typeof sandboxClaims | typeof sandboxes, name: string, status: object): Promise<void> {
    const patch = { type: "merge", body: { status } } as const;
    await this.client
      .patch(resource as typeof sandboxes, { namespace, name }, patch, { subresource: "status" })
      .catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request to a control API. */
export async function ask(
  { url }: Compat,
  method: string,
  path: string,
  { body, headers = {}, signal }: { body?: object; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Answer> {
  const answer = await fetch(url + path, {
    method,
    headers: { "x-api-key": "user", "open-sandbox-api-key": "user", "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? {} : JSON.parse(text) };
}
