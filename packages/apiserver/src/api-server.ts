import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import type { PodStreams, Transport } from "@agent-sandbox/kube";
import type { ApiObject } from "./api-object.ts";
import { adminToken } from "./auth/admin-token.ts";
import type { Identity } from "./auth/identity.ts";
import { writeKubeconfig } from "./auth/kubeconfig.ts";
import { createNamespaces } from "./bootstrap.ts";
import { type Clock, systemClock } from "./clock.ts";
import { EventExpiry } from "./gc/event-expiry.ts";
import { GarbageCollector } from "./gc/garbage-collector.ts";
import { NamespaceCleaner } from "./gc/namespace-cleaner.ts";
import { HttpsServer } from "./http/https-server.ts";
import { inProcessTransport } from "./in-process.ts";
import { type Logger, silentLogger } from "./logger.ts";
import { handle } from "./request/handle.ts";
import { builtinDefinitions } from "./resources/builtin.ts";
import { sandboxDefinitions } from "./resources/custom.ts";
import { Registry } from "./resources/registry.ts";
import { ServiceAddresses } from "./resources/service/service-addresses.ts";
import type { HistoryBounds } from "./store/history.ts";
import { openMemoryStore, openStore } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { StreamEndpoint } from "./streams/stream-endpoint.ts";
import { serverIdentity } from "./tls/server-identity.ts";
import type { ApiContext } from "./verbs/context.ts";

export interface ApiServerOptions {
  /** Where everything is kept. When absent, nothing outlives the process. */
  readonly dataDir?: string | undefined;
  /** The box's only node: Pods are bound to it when they are created. When absent, they wait for a scheduler. */
  readonly nodeName?: string | undefined;
  /** The node's side of exec, attach, logs and port-forward. When absent, they are refused. */
  readonly podStreams?: PodStreams | undefined;
  /** Default: no logs. */
  readonly logger?: Logger | undefined;
  /** Default: the system's time. */
  readonly clock?: Clock | undefined;
  /** How much of the past watches can start from. Default: 8192 changes of each resource, five minutes. */
  readonly history?: HistoryBounds | undefined;
  /** How often quiet watches get a bookmark. Default: one minute, as kube-apiserver sends them. */
  readonly bookmarkMs?: number | undefined;
}

export interface ListenOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: any free one. */
  readonly port?: number;
}

export interface Listening {
  /** `https://host:port` */
  readonly url: string;
  readonly port: number;
  /** What clients must trust, PEM. */
  readonly authority: string;
  readonly token: string;
  /** Writes a kubeconfig for the administrator, readable by its owner alone. */
  writeKubeconfig(path: string): void;
}

export interface ApiServer extends AsyncDisposable {
  /** The way in for this process, as a member of `system:masters`. */
  readonly transport: Transport;
  /** Serves HTTPS too. May be called once. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** Ends watches and sessions, answers what is under way, saves what was accepted. */
  close(): Promise<void>;
}

const ownIdentity: Identity = { user: "system:agent-sandbox", groups: ["system:masters", "system:authenticated"] };

/** Opens the store and makes the server ready. Fails, changing nothing, when the data folder is in use or unreadable. */
export async function createApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const {
    dataDir,
    nodeName,
    podStreams,
    logger = silentLogger,
    clock = systemClock,
    history,
    bookmarkMs = 60_000,
  } = options;
  const storeOptions = { clock, logger, ...(history === undefined ? {} : { history }) };
  const store = dataDir === undefined ? openMemoryStore(storeOptions) : openStore(dataDir, storeOptions);
  const server = new EmbeddedApiServer({ store, dataDir, nodeName, podStreams, logger, clock, bookmarkMs });
  try {
    await createNamespaces(server.transport);
    server.startCollecting();
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

interface Parts {
  readonly store: Store;
  readonly dataDir: string | undefined;
  readonly nodeName: string | undefined;
  readonly podStreams: PodStreams | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly bookmarkMs: number;
}

class EmbeddedApiServer implements ApiServer {
  readonly transport: Transport;
  readonly #parts: Parts;
  readonly #context: ApiContext;
  readonly #closing = new AbortController();
  readonly #streams: StreamEndpoint;
  readonly #collectors: readonly (GarbageCollector | NamespaceCleaner | EventExpiry)[];
  #https: HttpsServer | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { store, clock, logger, nodeName, bookmarkMs } = parts;
    // Every watch listens: their number says nothing about a leak.
    setMaxListeners(0, this.#closing.signal);
    this.#parts = parts;
    const registry = new Registry([...builtinDefinitions, ...sandboxDefinitions]);
    const addresses = new ServiceAddresses(() => objectsOf(store, "services"));
    const closing = this.#closing.signal;
    this.#context = { store, clock, logger, nodeName, bookmarkMs, registry, addresses, closing };
    this.#streams = new StreamEndpoint(parts);
    this.#collectors = [GarbageCollector, NamespaceCleaner, EventExpiry].map((each) => new each(this.#context, logger));
    this.transport = inProcessTransport(this.#context, ownIdentity);
  }

  startCollecting(): void {
    for (const collector of this.#collectors) collector.start();
  }

  async listen({ host = "127.0.0.1", port = 0 }: ListenOptions = {}): Promise<Listening> {
    if (this.#https !== undefined) throw new Error("Cannot listen: the server listens already");
    const { dataDir, logger, clock } = this.#parts;
    const token = adminToken(dataDir);
    const identity = serverIdentity({ folder: dataDir, names: serverNames(host), nowMs: clock.now() });
    this.#https = new HttpsServer({
      ...identity,
      token,
      logger,
      handle: (request) => handle(this.#context, request),
      upgrade: (request, socket, head) => this.#streams.upgrade(request, socket, head),
    });
    const address = await this.#https.listen(host, port);
    const url = `https://${isWildcard(host) ? "127.0.0.1" : bracketed(host)}:${address.port}`;
    logger.info({ url }, "API server listens");
    const { authority } = identity;
    return {
      url,
      port: address.port,
      authority,
      token,
      writeKubeconfig: (path) => writeKubeconfig(path, { server: url, authority, token }),
    };
  }

  async close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#streams.close();
    await this.#https?.close();
    await Promise.all(this.#collectors.map((collector) => collector.stop()));
    await this.#parts.store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function* objectsOf(store: Store, resource: string): Generator<ApiObject> {
  for (const { object } of store.list(resource)) yield object;
}

const isWildcard = (host: string): boolean => host === "0.0.0.0" || host === "::";
const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

function serverNames(host: string): string[] {
  const inCluster = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  const own = [hostname().toLowerCase()].filter((name) => /^[a-z0-9.-]+$/.test(name));
  return [...new Set(["localhost", "127.0.0.1", "::1", ...own, ...inCluster, ...(isWildcard(host) ? [] : [host])])];
}
