import { setMaxListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import { hostname } from "node:os";
import { apiServerAddress } from "@agent-sandbox/api";
import { requireMetering } from "@agent-sandbox/api/schema";
import type { Method, PodSessions, PodStreams, RouterForward, Transport } from "@agent-sandbox/kube";
import { ApiError } from "./api-error.ts";
import { AuditLog, type AuditOptions } from "./audit/audit-log.ts";
import { adminToken } from "./auth/admin-token.ts";
import { authenticatedGroup, type Identity, superuserGroup } from "./auth/identity.ts";
import { writeKubeconfig } from "./auth/kubeconfig.ts";
import { admit, admitUpgrade } from "./authorization/access-control.ts";
import { type AccessOptions, openAccess } from "./authorization/open-access.ts";
import { reconcileRoles } from "./authorization/reconcile-roles.ts";
import { reviewDefinitions } from "./authorization/review-definitions.ts";
import { RoleAggregator } from "./authorization/role-aggregator.ts";
import { createNamespaces, createRuntimeClasses } from "./bootstrap.ts";
import { type Clock, systemClock } from "./clock.ts";
import { EventExpiry } from "./gc/event-expiry.ts";
import { GarbageCollector } from "./gc/garbage-collector.ts";
import { NamespaceCleaner } from "./gc/namespace-cleaner.ts";
import { Ownership } from "./gc/ownership.ts";
import type { ShareLimits } from "./http/fair-shares.ts";
import { type Caller, HttpsServer } from "./http/https-server.ts";
import { inProcessTransport } from "./in-process.ts";
import { Interner } from "./interner.ts";
import { type Logger, silentLogger } from "./logger.ts";
import { RequestMetrics } from "./metrics/request-metrics.ts";
import { PodBinder } from "./placement/pod-binder.ts";
import { ProvidedObjects } from "./provided/provided-objects.ts";
import type { ApiRequest } from "./request/api-request.ts";
import { handle } from "./request/handle.ts";
import { Admission } from "./resources/admission.ts";
import { builtinDefinitions } from "./resources/builtin.ts";
import { CustomResources, installOwnDefinitions } from "./resources/crd/custom-resources.ts";
import { sandboxDefinitions } from "./resources/custom.ts";
import { DefaultAccounts } from "./resources/default-accounts.ts";
import { Registry } from "./resources/registry.ts";
import { ServiceAddresses } from "./resources/service/service-addresses.ts";
import type { HistoryBounds } from "./store/history.ts";
import { openMemoryStore, openStore } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { StreamEndpoint } from "./streams/stream-endpoint.ts";
import type { KeyAndCertificate } from "./tls/certificate.ts";
import { type ClientRequest, issueClientCertificate } from "./tls/client-identity.ts";
import { serverIdentity } from "./tls/server-identity.ts";
import { type ApiContext, decidedObjects } from "./verbs/context.ts";
import { KindVersionsCache } from "./verbs/kind-versions.ts";
import { defaultNamespaceLimits, type NamespaceLimits } from "./verbs/namespace-limits.ts";

export interface ApiServerOptions {
  /** The data folder. Default: none, and everything is lost when the process ends. */
  readonly dataDir?: string | undefined;
  /** The box's only node, to which Pods are bound when they are created. Default: none, and Pods wait for a scheduler. */
  readonly nodeName?: string | undefined;
  /** The RuntimeClasses to create. Default: those of the box's node, if there is one. */
  readonly runtimeClasses?: readonly string[] | undefined;
  /** The node's implementation of exec, attach, logs and port-forward. Default: none, and they are refused. */
  readonly podStreams?: PodStreams | undefined;
  /** Told about sessions with Pods, which it may delay until the Pod runs. Default: none, and sessions begin at once. */
  readonly podSessions?: PodSessions | undefined;
  /** The router, to which clients can forward a port. Default: none, and the objects through which they find it do not exist. */
  readonly routerForward?: RouterForward | undefined;
  /** Default: no logs. */
  readonly logger?: Logger | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** The history from which watches can start. Default: 8192 changes of each resource, 64 MiB, five minutes. */
  readonly history?: HistoryBounds | undefined;
  /** How often a watch without events gets a bookmark. Default: one minute, like kube-apiserver. */
  readonly bookmarkMs?: number | undefined;
  /** How clients are authenticated and authorized. */
  readonly access?: AccessOptions | undefined;
  /** Default: no audit log. */
  readonly audit?: AuditOptions | undefined;
  /** The limits of one user's concurrent requests over HTTPS. Default: see `defaultShares`. */
  readonly shares?: Partial<ShareLimits> | undefined;
  /** How much each namespace may store. Default: see `defaultNamespaceLimits`. */
  readonly limits?: Partial<NamespaceLimits> | undefined;
  /** Freezes stored objects, so that code that changes one throws. For tests: it makes writes slower. Default: false. */
  readonly freezeObjects?: boolean | undefined;
}

export interface ListenOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: any free port. */
  readonly port?: number;
}

export interface Listening {
  /** `https://host:port` */
  readonly url: string;
  readonly port: number;
  /** The certificate authority that clients must trust, in PEM. */
  readonly authority: string;
  readonly token: string;
  /** Writes a kubeconfig that only its owner can read. Default: with the administrator's token instead of a certificate. */
  writeKubeconfig(path: string, certificate?: KeyAndCertificate): void;
  /** Issues a certificate that authenticates a user. Roles decide what the user may do. */
  issueClientCertificate(request: ClientRequest): KeyAndCertificate;
}

export interface ApiServer extends AsyncDisposable {
  /** The in-process transport of a member of `system:masters`. */
  readonly transport: Transport;
  /** The in-process transport of an identity, with the permissions of its roles. */
  transportAs(identity: Identity): Transport;
  /** Starts to serve HTTPS. Can be called once. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** Ends watches and streams, answers pending requests and saves accepted writes. */
  close(): Promise<void>;
}

const ownIdentity: Identity = { user: "system:agent-sandbox", groups: [superuserGroup, authenticatedGroup] };

/** The runtimes of the embedded node. It refuses Pods with a runtime that does not work on the machine. */
const boxRuntimes = ["gvisor", "runc"];

/** Opens the store and starts the server. Fails without changing anything if the data folder is in use or damaged. */
export async function createApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const {
    dataDir,
    nodeName,
    podStreams,
    podSessions,
    routerForward,
    logger = silentLogger,
    clock = systemClock,
    history,
    bookmarkMs = 60_000,
  } = options;
  requireMetering();
  const interner = new Interner({ freeze: options.freezeObjects ?? false });
  const storeOptions = { clock, logger, interner, ...(history === undefined ? {} : { history }) };
  const store = dataDir === undefined ? openMemoryStore(storeOptions) : openStore(dataDir, storeOptions);
  let server: EmbeddedApiServer | undefined;
  try {
    const audit = await AuditLog.open(options.audit, { logger, clock });
    const access = options.access ?? {};
    const limits = { ...defaultNamespaceLimits(), ...options.limits };
    const parts = {
      store,
      interner,
      dataDir,
      nodeName,
      podStreams,
      podSessions,
      routerForward,
      logger,
      clock,
      bookmarkMs,
      access,
      audit,
      limits,
      shares: options.shares,
    };
    server = new EmbeddedApiServer(parts);
    await server.installOwnDefinitions();
    await createNamespaces(server.transport);
    await createRuntimeClasses(server.transport, options.runtimeClasses ?? (nodeName === undefined ? [] : boxRuntimes));
    await reconcileRoles(store, server.transport);
    server.startCollecting();
    return server;
  } catch (error) {
    await (server ?? store).close();
    throw error;
  }
}

interface Parts {
  readonly store: Store;
  readonly interner: Interner;
  readonly dataDir: string | undefined;
  readonly nodeName: string | undefined;
  readonly podStreams: PodStreams | undefined;
  readonly podSessions: PodSessions | undefined;
  readonly routerForward: RouterForward | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly bookmarkMs: number;
  readonly access: AccessOptions;
  readonly audit: AuditLog | undefined;
  readonly limits: NamespaceLimits;
  readonly shares: Partial<ShareLimits> | undefined;
}

class EmbeddedApiServer implements ApiServer {
  readonly transport: Transport;
  readonly #parts: Parts;
  readonly #context: ApiContext;
  readonly #closing = new AbortController();
  readonly #streams: StreamEndpoint;
  readonly #adminToken: string;
  readonly #collectors: readonly { start(): void; stop(): Promise<void> }[];
  #https: HttpsServer | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { store, interner, clock, logger, nodeName, podStreams, podSessions, bookmarkMs, dataDir, audit, limits } =
      parts;
    // Every watch adds a listener, so their number is not a sign of a leak.
    setMaxListeners(0, this.#closing.signal);
    this.#parts = parts;
    const registry = new Registry([...builtinDefinitions(interner), ...reviewDefinitions, ...sandboxDefinitions]);
    const addresses = new ServiceAddresses(() => decidedObjects(store, "services"));
    this.#adminToken = adminToken(dataDir);
    const provided = parts.routerForward && new ProvidedObjects(store, { clock, nodeName });
    const access = openAccess({ store, clock, dataDir, adminToken: this.#adminToken, provided, options: parts.access });
    const closing = this.#closing.signal;
    this.#context = {
      store,
      registry,
      admission: new Admission(interner),
      interner,
      kinds: new KindVersionsCache(),
      clock,
      addresses,
      ownership: new Ownership(),
      access,
      audit,
      metrics: new RequestMetrics(registry),
      logger,
      limits,
      nodeName,
      podStreams,
      podSessions,
      bookmarkMs,
      closing,
    };
    this.#streams = new StreamEndpoint({ ...parts, provided, authorizer: access.authorizer });
    // Custom resources come first, because the others read all served resources.
    this.#collectors = [
      CustomResources,
      GarbageCollector,
      NamespaceCleaner,
      EventExpiry,
      RoleAggregator,
      DefaultAccounts,
      PodBinder,
    ].map((each) => new each(this.#context, logger));
    this.transport = this.transportAs(ownIdentity);
  }

  transportAs(identity: Identity): Transport {
    return inProcessTransport(this.#context, identity);
  }

  async installOwnDefinitions(): Promise<void> {
    await installOwnDefinitions(this.#context);
  }

  startCollecting(): void {
    for (const collector of this.#collectors) collector.start();
  }

  async listen({ host = "127.0.0.1", port = 0 }: ListenOptions = {}): Promise<Listening> {
    if (this.#https !== undefined) throw new Error("Cannot listen: the server listens already");
    const { dataDir, logger, clock, shares } = this.#parts;
    const token = this.#adminToken;
    const { authority, ...own } = serverIdentity({ folder: dataDir, names: serverNames(host), nowMs: clock.now() });
    this.#https = new HttpsServer({
      ...own,
      authority: authority.certificate,
      authenticator: this.#context.access.authenticator,
      logger,
      shares,
      handle: (request) => handle(this.#context, request),
      proxyHandler: (request, caller) => {
        this.#admit(request, caller, { as: admit, code: 200 });
        return this.#streams.proxyHandler(request);
      },
      upgrade: (request, socket, { head, authenticate, ...caller }) => {
        this.#admit(request, caller, { as: admitUpgrade, code: 101 });
        const identify = (): Identity => this.#identify(request, { ...caller, identity: authenticate() });
        this.#streams.upgrade(request, socket, { head, identify });
      },
      unauthenticated: (request) => {
        this.#context.metrics.unauthenticated();
        this.#context.audit?.unauthenticated(request);
      },
    });
    const address = await this.#https.listen(host, port);
    const url = `https://${isWildcard(host) ? "127.0.0.1" : bracketed(host)}:${address.port}`;
    logger.info({ url }, "API server listens");
    return {
      url,
      port: address.port,
      authority: authority.certificate,
      token,
      writeKubeconfig: (path, certificate) =>
        writeKubeconfig(path, {
          server: url,
          authority: authority.certificate,
          credentials: certificate ?? { token },
        }),
      issueClientCertificate: (request) => issueClientCertificate(authority, request, clock.now()),
    };
  }

  /** Authorizes a request that the node answers, and records it in the audit log and metrics. */
  #admit(
    request: IncomingMessage,
    { identity, impersonate }: Caller,
    { as, code }: { readonly as: typeof admit; readonly code: number },
  ): void {
    const { method = "", url = "", headers } = request;
    const sourceAddress = request.socket.remoteAddress;
    const asked = { method: method as Method, url, headers: headers as ApiRequest["headers"], identity, sourceAddress };
    const record = this.#context.audit?.begin(asked);
    const ended = (answer: number): void => {
      record?.ended(answer);
      this.#context.metrics.connected(asked, answer);
    };
    try {
      as(this.#context.access, { ...asked, impersonate }, record);
    } catch (error) {
      ended(error instanceof ApiError ? error.code : 500);
      throw error;
    }
    ended(code);
  }

  /** The identity with which the client of an open session acts now. Throws if it may no longer have the session. */
  #identify({ method = "", url = "" }: IncomingMessage, caller: Caller): Identity {
    return admitUpgrade(this.#context.access, { method: method as Method, url, ...caller });
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
    await this.#parts.audit?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
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
  return [
    ...new Set([
      "localhost",
      "127.0.0.1",
      "::1",
      apiServerAddress,
      ...own,
      ...inCluster,
      ...(isWildcard(host) ? [] : [host]),
    ]),
  ];
}
