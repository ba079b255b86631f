import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { type ForwardCaller, KubeError, silentLogger, systemScheduler } from "@agent-sandbox/kube";
import type { Parts } from "../assemble.ts";
import { bindTo } from "../bind-to.ts";
import type { Route } from "../route/route.ts";
import { defaultHeadMs, defaultMaxHeaderBytes, type ListenAddress, type RouterOptions } from "../router-options.ts";
import { loadCertificates, type TlsFiles } from "../tls/certificates.ts";
import { watchFiles } from "../tls/watch-files.ts";
import { forwardedConnectionInfo } from "./connection-info.ts";
import { connectionKey } from "./connection-limit.ts";
import { connectionPair } from "./connection-pair.ts";
import { ProtocolServer } from "./protocol-server.ts";

export interface BoundAddress {
  readonly host: string;
  readonly port: number;
}

export interface TcpListener extends AsyncDisposable {
  readonly address: BoundAddress;
}

/** How long a connection without a request is kept. */
const idleMs = 120_000;
/** How often a shutdown checks whether the last connection has closed. */
const drainStepMs = 20;

/** The listening sockets, and the connections that they have accepted. */
export class Listeners {
  readonly #options: RouterOptions;
  readonly #parts: Parts;
  readonly #protocols: ProtocolServer;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Duplex>();
  #isStopping = false;

  constructor(options: RouterOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#protocols = new ProtocolServer({
      onRequest: (client) => parts.requests.handle(client),
      backlog: parts.backlog,
      maxHeaderBytes: options.maxHeaderBytes ?? defaultMaxHeaderBytes,
      headMs: options.headMs ?? defaultHeadMs,
      idleMs,
    });
  }

  listen(address: ListenAddress): Promise<BoundAddress> {
    const server = createServer({ noDelay: true, keepAlive: true, allowHalfOpen: true }, (socket) => {
      if (this.#track(socket, connectionKey(socket))) this.#protocols.accept(socket);
    });
    return this.#bind(server, address);
  }

  listenSecure(address: ListenAddress & TlsFiles, stack: AsyncDisposableStack): Promise<BoundAddress> {
    const { mtls, certFile, keyFile, clientCaFile } = address;
    const server = createTlsServer({
      ...loadCertificates(address),
      ALPNProtocols: ["h2", "http/1.1"],
      requestCert: mtls !== "off",
      rejectUnauthorized: mtls === "required",
      handshakeTimeout: this.#options.headMs ?? defaultHeadMs,
    });
    server.on("secureConnection", (socket: TLSSocket) => {
      const hasBadCertificate =
        mtls === "optional" && socket.getPeerX509Certificate() !== undefined && !socket.authorized;
      if (hasBadCertificate) socket.destroy();
      else this.#protocols.acceptSecure(socket);
    });
    server.on("connection", (socket: Socket) => void this.#track(socket, connectionKey(socket)));
    server.on("tlsClientError", (_, socket: TLSSocket) => socket.destroy());
    const files = [certFile, keyFile, ...(clientCaFile === undefined ? [] : [clientCaFile])];
    stack.use(watchFiles(files, () => this.#reload(server, address)));
    return this.#bind(server, address);
  }

  async listenTcp(target: Pick<Route, "namespace" | "name" | "port">, address: ListenAddress): Promise<TcpListener> {
    const route: Route = { by: "path", ...target, uid: undefined, podIp: undefined, target: "/" };
    const server = createServer(
      { noDelay: true, keepAlive: true, allowHalfOpen: true, pauseOnConnect: true },
      (socket) => {
        const key = connectionKey(socket);
        if (!this.#track(socket, key)) return;
        const use = this.#parts.connections.markBusy(key);
        socket.on("close", () => use[Symbol.dispose]());
        void this.#parts.tcp.handle(route, socket, socket.remoteAddress ?? "unknown");
      },
    );
    const bound = await this.#bind(server, { host: "127.0.0.1", ...address });
    return { address: bound, [Symbol.asyncDispose]: async () => void server.close() };
  }

  /** Opens a connection of a port-forward, within the process. Its requests are those of `caller`. */
  async connect(caller: ForwardCaller): Promise<Duplex> {
    const { client, server } = connectionPair();
    const info = forwardedConnectionInfo(caller);
    if (this.#isStopping || !this.#track(server, info.key)) {
      throw new KubeError("ServiceUnavailable", "the router accepts no more connections");
    }
    this.#protocols.acceptForwarded(server, info);
    return client;
  }

  /** Stops listening, waits for open connections to finish, and closes those that are left after `shutdownMs`. */
  async stop(): Promise<void> {
    const { scheduler = systemScheduler, shutdownMs = 30_000 } = this.#options;
    this.#isStopping = true;
    for (const server of this.#servers) server.close();
    this.#protocols.drain();
    this.#parts.splices.leave();
    const isEmpty = Promise.withResolvers<void>();
    const check = (): void => {
      this.#protocols.drain();
      if (this.#sockets.size === 0) isEmpty.resolve();
    };
    const timer = setInterval(check, drainStepMs);
    const stopping = new AbortController();
    await Promise.race([isEmpty.promise, scheduler.sleep(shutdownMs, stopping.signal)]);
    stopping.abort();
    clearInterval(timer);
    this.#protocols.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #reload(server: ReturnType<typeof createTlsServer>, files: TlsFiles): void {
    const { log = silentLogger } = this.#options;
    try {
      server.setSecureContext(loadCertificates(files));
      this.#parts.metrics.reloaded("success");
      log.info({ certFile: files.certFile }, "certificates reloaded");
    } catch (error) {
      this.#parts.metrics.reloaded("failure");
      log.error({ err: error, certFile: files.certFile }, "certificates not reloaded");
    }
  }

  /** False if the connection limit is reached. */
  #track(socket: Duplex, key: string): boolean {
    socket.on("error", () => undefined);
    this.#parts.connections.add(socket, key);
    if (socket.destroyed) return false;
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    return true;
  }

  #bind(server: Server, { host = "127.0.0.1", port }: ListenAddress): Promise<BoundAddress> {
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ ...bindTo(host), port, backlog: 1024 }, () => {
        server.off("error", reject);
        server.on("error", () => undefined);
        resolve({ host, port: (server.address() as AddressInfo).port });
      });
    });
  }
}
