import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Method, Transport, TransportRequest } from "@agent-sandbox/kube";

/** Fractions of requests, except for the interval at which watches are cut. */
export interface Hostility {
  readonly fails: number;
  readonly isBusy: number;
  /** The request is carried out and the response is lost. */
  readonly losesAnswer: number;
  readonly conflicts: number;
  readonly cutsWatchesAfterMs: number;
  /** Of watches that continue from a version. */
  readonly hasForgotten: number;
}

/** A proxy to an API server that injects faults. Without faults it only forwards and counts requests. */
export class StormProxy implements AsyncDisposable {
  /** Undefined: no faults. */
  hostility: Hostility | undefined;
  /** Write requests that reached the API server. */
  writes = 0;
  /** The same, such as `PATCH /api/v1/namespaces/default/pods/x`. */
  readonly written: string[] = [];
  /** Called after each of them, before the response is sent. */
  onWrite: (() => Promise<void>) | undefined;
  /** How often each fault was injected. */
  readonly harm: Map<string, number> = new Map();
  readonly #upstream: Transport;
  readonly #random: () => number;
  readonly #server = createServer((request, response) => {
    void this.#answer(request, response).catch(() => response.destroy());
  });

  private constructor(upstream: Transport, random: () => number) {
    this.#upstream = upstream;
    this.#random = random;
  }

  static async open(upstream: Transport, random: () => number): Promise<StormProxy> {
    const proxy = new StormProxy(upstream, random);
    await once(proxy.#server.listen(0, "127.0.0.1"), "listening");
    return proxy;
  }

  writeKubeconfig(path: string): void {
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "storm",
      clusters: [{ name: "storm", cluster: { server } }],
      users: [{ name: "storm", user: { token: "storm" } }],
      contexts: [{ name: "storm", context: { cluster: "storm", user: "storm", namespace: "default" } }],
    };
    writeFileSync(path, JSON.stringify(config));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const read = await readRequest(request);
    if (new URL(read.path, "http://api").searchParams.has("watch")) return this.#watch(read, response);
    const refusal = this.#refusalOf(read);
    if (refusal !== undefined) return reply(response, refusal.code, refusal.body, refusal.headers);
    const isWrite = read.method !== "GET";
    if (isWrite) {
      this.writes += 1;
      this.written.push(`${read.method} ${new URL(read.path, "http://api").pathname}`);
    }
    const answer = await this.#upstream.send(read);
    if (isWrite) await this.onWrite?.();
    if (isWrite && this.#strikes("losesAnswer")) response.destroy();
    else reply(response, answer.status, answer.body);
  }

  #refusalOf({ method }: TransportRequest) {
    const conditional = method === "PATCH" || method === "PUT" || method === "DELETE";
    if (this.#strikes("fails")) return status(500, "InternalError");
    if (this.#strikes("isBusy")) return status(429, "TooManyRequests", { "retry-after": "1" });
    if (conditional && this.#strikes("conflicts")) return status(409, "Conflict");
    return undefined;
  }

  async #watch(read: TransportRequest, response: ServerResponse): Promise<void> {
    const isResumed = new URL(read.path, "http://api").searchParams.get("resourceVersion") !== null;
    if (isResumed && this.#strikes("hasForgotten")) {
      const { code, body } = status(410, "Expired");
      return reply(response, code, body);
    }
    const stop = new AbortController();
    response.on("close", () => stop.abort());
    const stream = await this.#upstream.stream({ ...read, signal: stop.signal });
    if (stream.events === undefined) return reply(response, stream.status, stream.body);
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const { cutsWatchesAfterMs } = this.hostility ?? {};
    const cut =
      cutsWatchesAfterMs === undefined
        ? undefined
        : setTimeout(() => this.hostility && response.destroy(), this.#random() * cutsWatchesAfterMs * 2);
    try {
      for await (const batch of stream.events) {
        response.write(batch.map((event) => `${JSON.stringify(event)}\n`).join(""));
      }
      response.end();
    } finally {
      clearTimeout(cut);
    }
  }

  #strikes(kind: Exclude<keyof Hostility, "cutsWatchesAfterMs">): boolean {
    if (this.hostility === undefined || this.#random() >= this.hostility[kind]) return false;
    this.harm.set(kind, (this.harm.get(kind) ?? 0) + 1);
    return true;
  }
}

async function readRequest(request: IncomingMessage): Promise<TransportRequest> {
  const body = await text(request);
  const type = request.headers["content-type"];
  return {
    method: (request.method ?? "GET") as Method,
    path: request.url ?? "/",
    ...(type !== undefined && { headers: { "content-type": type } }),
    ...(body !== "" && { body: JSON.parse(body) as unknown }),
  };
}

function status(code: number, reason: string, headers: Record<string, string> = {}) {
  const body = {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    reason,
    code,
    message: `the storm says ${reason}`,
  };
  return { code, body, headers };
}

function reply(response: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(code, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}
