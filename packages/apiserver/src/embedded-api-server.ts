import { setMaxListeners } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Method, PodSessions, PodStreams, RouterForward, Transport } from "@agent-sandbox/kube";
import { ApiError } from "./api-error.ts";
import type { ApiServer, Listening, ListenOptions } from "./api-server.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import { adminToken } from "./auth/admin-token.ts";
import { authenticatedGroup, type Identity, superuserGroup } from "./auth/identity.ts";
import { writeKubeconfig } from "./auth/kubeconfig.ts";
import { admit, admitUpgrade } from "./authorization/access-control.ts";
import { type AccessOptions, openAccess } from "./authorization/open-access.ts";
import { reviewDefinitions } from "./authorization/review-definitions.ts";
import { RoleAggregator } from "./authorization/role-aggregator.ts";
import type { Clock } from "./clock.ts";
import { EventExpiry } from "./gc/event-expiry.ts";
import { GarbageCollector } from "./gc/garbage-collector.ts";
import { NamespaceCleaner } from "./gc/namespace-cleaner.ts";
import { Ownership } from "./gc/ownership.ts";
import type { CrossOrigin } from "./http/cross-origin.ts";
import type { ShareLimits } from "./http/fair-shares.ts";
import { type Caller, HttpsServer } from "./http/https-server.ts";
import { inProcessTransport } from "./in-process.ts";
import type { Interner } from "./interner.ts";
import type { Logger } from "./logger.ts";
import type { PartMetrics } from "./metrics/part-metrics.ts";
import { RequestMetrics } from "./metrics/request-metrics.ts";
import { Allocations } from "./placement/allocations.ts";
import { PodBinder } from "./placement/pod-binder.ts";
import type { NamespacePercent } from "./placement/usage.ts";
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
import type { Store } from "./store/store.ts";
import { StreamEndpoint } from "./streams/stream-endpoint.ts";
import { issueClientCertificate } from "./tls/client-identity.ts";
import { serverIdentity } from "./tls/server-identity.ts";
import { serverNames, urlOf } from "./tls/server-names.ts";
import { usageDefinitions } from "./usage/usage-definitions.ts";
import { type ApiContext, decidedObjects } from "./verbs/context.ts";
import { KindVersionsCache } from "./verbs/kind-versions.ts";
import type { NamespaceLimits } from "./verbs/namespace-limits.ts";

const ownIdentity: Identity = { user: "system:agent-sandbox", groups: [superuserGroup, authenticatedGroup] };

/** What the server is made of. It closes the store and the audit log. */
export interface Parts {
  readonly store: Store;
  readonly interner: Interner;
  readonly dataDir: string | undefined;
  readonly nodeName: string | undefined;
  readonly podStreams: PodStreams | undefined;
  readonly podSessions: PodSessions | undefined;
  readonly routerForward: RouterForward | undefined;
  readonly partMetrics: PartMetrics;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly bookmarkMs: number;
  readonly access: AccessOptions;
  readonly audit: AuditLog | undefined;
  readonly limits: NamespaceLimits;
  readonly namespacePercent: NamespacePercent;
  readonly shares: Partial<ShareLimits> | undefined;
  readonly crossOrigin: CrossOrigin | undefined;
}
/** The parts of the API server, connected. `createApiServer` opens and closes it. */
export class EmbeddedApiServer implements ApiServer {
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
    const registry = new Registry([
      ...builtinDefinitions(interner),
      ...reviewDefinitions,
      ...sandboxDefinitions,
      ...(podStreams?.usage === undefined ? [] : usageDefinitions),
    ]);
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
      partMetrics: parts.partMetrics,
      logger,
      limits,
      nodeName,
      allocations:
        nodeName === undefined
          ? undefined
          : new Allocations(store, { interner, nodeName, percent: parts.namespacePercent }),
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
    const { dataDir, logger, clock, shares, crossOrigin } = this.#parts;
    const token = this.#adminToken;
    const { authority, ...own } = serverIdentity({ folder: dataDir, names: serverNames(host), nowMs: clock.now() });
    this.#https = new HttpsServer({
      ...own,
      authority: authority.certificate,
      authenticator: this.#context.access.authenticator,
      logger,
      shares,
      crossOrigin,
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
    const url = urlOf(host, address.port);
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
