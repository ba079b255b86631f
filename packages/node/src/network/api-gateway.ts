import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Logger } from "@agent-sandbox/kube";
import type { ApiServerPlace } from "./api-access.ts";
import { PodSlots } from "./pod-slots.ts";

export interface ApiGatewayOptions {
  /** The address of the machine on the Pod network. */
  readonly address: string;
  /** The API server, once it listens. */
  readonly apiServer: () => ApiServerPlace | undefined;
  /** The namespace of the Pod at an address that may reach the API server now. Undefined for all others. */
  readonly namespaceOf: (address: string) => string | undefined;
  readonly log: Logger;
  /** How often the access of open connections is checked again. Default: 5 s. */
  readonly recheckMs?: number;
}

/** Concurrent connections. The API server accepts 4,096, which these leave to its other clients. */
const shares = { total: 512, namespace: 64, pod: 16 };

/**
 * Forwards connections of Pods to the API server, which listens on loopback. TLS ends at the API server. A Pod is identified by
 * its source address, which the firewall enforces.
 */
export class ApiGateway implements AsyncDisposable {
  readonly port: number;
  readonly #options: ApiGatewayOptions;
  readonly #server: Server;
  readonly #slots = new PodSlots(shares);
  readonly #open = new Map<Socket, string>();
  readonly #timer: NodeJS.Timeout;

  private constructor(options: ApiGatewayOptions, server: Server) {
    this.#options = options;
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (socket) => this.#accept(socket));
    server.on("error", (error) => options.log.warn({ err: error }, "the API server's gateway for Pods failed"));
    this.#timer = setInterval(() => this.#recheck(), options.recheckMs ?? 5000).unref();
  }

  static async start(options: ApiGatewayOptions): Promise<ApiGateway> {
    const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
    server.listen(0, options.address);
    await once(server, "listening");
    return new ApiGateway(options, server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#open.keys()) socket.destroy();
    await closed;
  }

  #accept(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    const from = socket.remoteAddress ?? "";
    const namespace = this.#options.namespaceOf(from);
    const place = this.#options.apiServer();
    const release = namespace === undefined || place === undefined ? undefined : this.#slots.take(namespace, from);
    if (release === undefined || place === undefined) return void socket.destroy();
    this.#open.set(socket, from);
    const upstream = connect({ host: place.host, port: place.port, allowHalfOpen: true, noDelay: true });
    upstream.on("error", () => socket.destroy());
    upstream.once("close", () => socket.destroy());
    socket.once("close", () => {
      upstream.destroy();
      this.#open.delete(socket);
      release();
    });
    socket.pipe(upstream).pipe(socket);
  }

  /** Closes the connections of Pods that may no longer reach the API server. */
  #recheck(): void {
    for (const [socket, from] of this.#open) if (this.#options.namespaceOf(from) === undefined) socket.destroy();
  }
}
