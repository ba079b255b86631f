import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished } from "vitest";
import { KubeError } from "../../errors.ts";
import type { Transport } from "../../transport.ts";
import { type ClusterAccess, fixedCredential } from "./cluster-access.ts";
import { HttpTransport, type HttpTransportOptions } from "./http-transport.ts";

export type Answer = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

/** An HTTP server on loopback whose responses the test controls and which records requests. */
export class HostileApi implements AsyncDisposable {
  readonly url: string;
  readonly requests: { method: string; path: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  answer: Answer;
  connections = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>, scheme: string, answer: Answer) {
    this.#server = server;
    this.url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.answer = answer;
    server.on(scheme === "https" ? "secureConnection" : "connection", (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => void this.#receive(request, response));
  }

  static async start(answer: Answer, tls?: ServerOptions): Promise<HostileApi> {
    const server = tls ? createTlsServer(tls) : createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new HostileApi(server, tls ? "https" : "http", answer);
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  access(over: Partial<ClusterAccess> = {}): ClusterAccess {
    return { server: this.url, namespace: "default", tls: {}, credentials: fixedCredential({}), ...over };
  }

  breakAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    request.on("error", () => undefined);
    for await (const chunk of request) body += String(chunk);
    const { method = "", url: path = "", headers } = request;
    this.requests.push({ method, path, headers, body });
    this.answer(request, response, this.requests.length);
  }
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Resolves when the condition holds. The test's time limit applies. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** A transport to an API server with this handler. Both are closed at the end of the test. */
export async function hostileTransport(
  answer: Answer,
  options: HttpTransportOptions = {},
  over: Partial<ClusterAccess> = {},
): Promise<{ api: HostileApi; transport: Transport }> {
  const api = await HostileApi.start(answer);
  const transport = new HttpTransport(api.access(over), options);
  onTestFinished(async () => {
    await transport.close();
    await api[Symbol.asyncDispose]();
  });
  return { api, transport };
}

/** Undici and Node's own client, which must behave the same. */
export const httpClients: readonly HttpTransportOptions[] = [{ startsFast: false }, { startsFast: true }];

/** `hostileTransport` with one of the clients. */
export function openerOf(client: HttpTransportOptions): typeof hostileTransport {
  return (answer, options, over) => hostileTransport(answer, { ...client, ...options }, over);
}

/** The `KubeError` of a call that must fail. */
export async function failing(promise: Promise<unknown>): Promise<KubeError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KubeError);
  return error as KubeError;
}
