import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { silentLogger, systemScheduler } from "@agent-sandbox/kube";
import { assemble, type Parts } from "./assemble.ts";
import { bindTo } from "./bind-to.ts";
import { startProbes } from "./observe/probes.ts";
import { connectionKey } from "./proxy/connection-places.ts";
import { Protocols } from "./proxy/listeners.ts";
import type { Route } from "./route/route.ts";
import { defaultHeadMs, defaultMaxHeaderBytes, type ListenAddress, type RouterOptions } from "./router-options.ts";
import { loadCertificates, type TlsFiles } from "./tls/certificates.ts";
import { watchFiles } from "./tls/watch-files.ts";

export interface BoundAddress {
  readonly host: string;
  readonly port: number;
}

export interface TcpListener extends AsyncDisposable {
  readonly address: BoundAddress;
}

export interface Router extends AsyncDisposable {
  readonly address: BoundAddress | undefined;
  readonly secureAddress: BoundAddress | undefined;
  readonly metricsAddress: BoundAddress | undefined;
  readonly probesAddress: BoundAddress | undefined;
  /** `http://host:port` of the plain listener, else `https://` of the secure one. */
  readonly url: string;
  /** Settles when the router knows the sandboxes. Until then requests are answered with 503. */
  readonly ready: Promise<void>;
  /** The metrics in Prometheus' text format. */
  metrics(): Promise<string>;
  /** Joins every connection to this address with one port of one sandbox. Whoever can connect is trusted. */
  listenTcp(target: Pick<Route, "namespace" | "name" | "port">, listen: ListenAddress): Promise<TcpListener>;
}

/**
 * Starts the router: binds all its addresses, then serves until it is disposed. Stopping lets requests under way finish,
 * says goodbye to WebSockets, and cuts off what is left after `shutdownMs`.
 */
export async function startRouter(options: RouterOptions): Promise<Router> {
  await using starting = new AsyncDisposableStack();
  const parts = assemble(options, starting);
  const life = { isBound: false, isDraining: false };
  const isReady = (): boolean => life.isBound && !life.isDraining && parts.directory.hasSynced;
  // Before the traffic: so they end after it, and can tell that it is ending.
  const { metricsAddress, probesAddress } = await startProbes(options, { isReady, metrics: parts.metrics }, starting);
  const front = new Front(options, parts);
  starting.defer(() => front.stop());
  const address = options.listen && (await front.listen(options.listen));
  const secureAddress = options.secure && (await front.listenSecure(options.secure, starting));
  life.isBound = true;
  const tcpListeners = starting.use(new AsyncDisposableStack());
  const ready = parts.directory.synced.then(() => undefined);
  // Nobody has to wait for it.
  ready.catch(() => undefined);
  const owned = starting.move();
  return {
    address,
    secureAddress,
    metricsAddress,
    probesAddress,
    url: urlOf(address, secureAddress),
    ready,
    metrics: () => parts.metrics.registry.metrics(),
    listenTcp: async (target, listen) => tcpListeners.use(await front.listenTcp(target, listen)),
    [Symbol.asyncDispose]: () => {
      life.isDraining = true;
      return owned.disposeAsync();
    },
  };
}

/** The listeners, and the connections they have accepted. */
class Front {
  readonly #options: RouterOptions;
  readonly #parts: Parts;
  readonly #protocols: Protocols;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  constructor(options: RouterOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#protocols = new Protocols({
      handlers: {
        request: (incoming) => parts.http.handle(incoming),
        upgrade: (takeover) => parts.upgrades.handle(takeover),
        connect: (takeover) => parts.tunnels.handleConnect(takeover),
      },
      backlog: parts.backlog,
      maxHeaderBytes: options.maxHeaderBytes ?? defaultMaxHeaderBytes,
      headMs: options.headMs ?? defaultHeadMs,
      idleMs: 120_000,
    });
  }

  listen(address: ListenAddress): Promise<BoundAddress> {
    const server = createServer({ noDelay: true, keepAlive: true, allowHalfOpen: true }, (socket) => {
      if (this.#track(socket)) this.#protocols.accept(socket);
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
    server.on("connection", (socket: Socket) => void this.#track(socket));
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
        if (!this.#track(socket)) return;
        const use = this.#parts.places.begin(connectionKey(socket));
        socket.on("close", () => use[Symbol.dispose]());
        void this.#parts.tunnels.handleTcp(route, socket, socket.remoteAddress ?? "unknown");
      },
    );
    const bound = await this.#bind(server, { host: "127.0.0.1", ...address });
    return { address: bound, [Symbol.asyncDispose]: async () => void server.close() };
  }

  /** No new connections; those that are open may finish what they do. */
  async stop(): Promise<void> {
    const { scheduler = systemScheduler, shutdownMs = 30_000 } = this.#options;
    for (const server of this.#servers) server.close();
    this.#protocols.drain();
    this.#parts.splices.leave();
    const isEmpty = Promise.withResolvers<void>();
    const look = (): void => {
      this.#protocols.drain();
      if (this.#sockets.size === 0) isEmpty.resolve();
    };
    const timer = setInterval(look, 20);
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
      log.info({ certFile: files.certFile }, "certificates read");
    } catch (error) {
      this.#parts.metrics.reloaded("failure");
      log.error({ err: error, certFile: files.certFile }, "certificates kept: the files cannot be used");
    }
  }

  /** False when there is no place for it. */
  #track(socket: Socket): boolean {
    socket.on("error", () => undefined);
    this.#parts.places.arrived(socket);
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

function urlOf(plain: BoundAddress | undefined, secure: BoundAddress | undefined): string {
  const [scheme, address] = plain === undefined ? ["https", secure] : ["http", plain];
  if (address === undefined) throw new Error("Cannot start the router: it has no address to listen on");
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${scheme}://${host}:${address.port}`;
}
