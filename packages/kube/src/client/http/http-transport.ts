import { createSecureContext, type SecureContext } from "node:tls";
import type { Dispatcher } from "undici";
import { KubeError } from "../../errors.ts";
import type { StreamResponse, Transport, TransportRequest, TransportResponse } from "../../transport.ts";
import { readBody } from "./body.ts";
import { type ClusterAccess, type Credential, isSameCredential } from "./cluster-access.ts";
import { connectionError } from "./connection-error.ts";
import type { ConnectionPool, PoolSettings } from "./connection-pool.ts";
import { Exchange, type Head } from "./exchange.ts";
import { watchEvents } from "./watch-events.ts";

export interface HttpTransportOptions {
  /** Connections for requests, not counting those of watches. Default 32. */
  readonly connections?: number;
  /** Time until the complete response, or until the headers of a watch. Default 60 s, the limit of API servers. */
  readonly requestTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** The largest response body. Default 256 MiB, about 50,000 Pods in one list. */
  readonly maxBodyBytes?: number;
  /** The largest watch event. Default 16 MiB, ten times the largest object that a server stores. */
  readonly maxEventBytes?: number;
  readonly userAgent?: string;
  /** Use Node's own HTTP client: loaded faster, slower per request. For programs that send few requests. Default false. */
  readonly startsFast?: boolean;
}

const defaults: Required<HttpTransportOptions> = {
  connections: 32,
  requestTimeoutMs: 60_000,
  connectTimeoutMs: 10_000,
  maxBodyBytes: 256 << 20,
  maxEventBytes: 16 << 20,
  userAgent: "agent-sandbox",
  startsFast: false,
};

interface Pools {
  readonly certificate: Credential["certificate"];
  readonly requests: ConnectionPool;
  readonly watches: ConnectionPool;
}

/** A transport over HTTP/1.1, so that no response waits for another one on the same connection. */
export class HttpTransport implements Transport {
  readonly #access: ClusterAccess;
  readonly #options: Required<HttpTransportOptions>;
  readonly #origin: string;
  readonly #prefix: string;
  #pools: Pools | undefined;
  #closed = false;

  /** Throws a `KubeError` if `access.server` is not an http or https URL. */
  constructor(access: ClusterAccess, options: HttpTransportOptions = {}) {
    const url = parseServer(access.server);
    this.#access = access;
    this.#options = { ...defaults, ...options };
    this.#origin = url.origin;
    this.#prefix = url.pathname.replace(/\/+$/, "");
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const encoding = this.#access.compression === true ? { "accept-encoding": "gzip" } : {};
    const { exchange, head, done } = await this.#authenticated(request, "requests", encoding);
    try {
      return { ...head, body: await readBody(exchange, head, this.#options.maxBodyBytes) };
    } finally {
      done();
    }
  }

  async stream(request: TransportRequest): Promise<StreamResponse> {
    const { exchange, head, done } = await this.#authenticated(request, "watches", {});
    try {
      const type = head.headers["content-type"];
      if (head.status !== 200) return { ...head, body: await readBody(exchange, head, this.#options.maxBodyBytes) };
      if (type !== undefined && !type.includes("json")) {
        exchange.abort("it is not a watch");
        throw new KubeError("InvalidResponse", `Cannot watch "${request.path}": the server returned 200 with ${type}`);
      }
      return { ...head, events: watchEvents(exchange, this.#options.maxEventBytes) };
    } finally {
      done();
    }
  }

  /** Closes every connection. Pending requests fail with `Interrupted`. */
  async close(): Promise<void> {
    this.#closed = true;
    const pools = this.#pools;
    this.#pools = undefined;
    await Promise.all([pools?.requests.destroy(), pools?.watches.destroy()]);
  }

  /** After a 401 the request was not processed, so it is sent once more with another credential. */
  async #authenticated(request: TransportRequest, pool: "requests" | "watches", headers: Record<string, string>) {
    const { credentials } = this.#access;
    const credential = await credentials.get();
    const first = await this.#exchange(request, pool, { credential, headers });
    if (first.head.status !== 401) return first;
    const renewed = await credentials.renew(credential).catch((error: unknown) => {
      first.exchange.abort("refused");
      first.done();
      throw error;
    });
    if (isSameCredential(renewed, credential)) return first;
    first.exchange.abort("refused");
    first.done();
    return this.#exchange(request, pool, { credential: renewed, headers });
  }

  async #exchange(
    request: TransportRequest,
    pool: "requests" | "watches",
    extra: { readonly credential: Credential; readonly headers: Record<string, string> },
  ): Promise<{ exchange: Exchange; head: Head; done: () => void }> {
    const pools = this.#openPools(extra.credential) ?? (await this.#poolsFor(extra.credential));
    const dispatcher = pools[pool];
    const exchange = new Exchange(dispatcher, this.#dispatchOptions(request, extra), request.signal);
    const { requestTimeoutMs } = this.#options;
    const timer = setTimeout(
      () => exchange.abort(`no complete response within ${requestTimeoutMs} ms`),
      requestTimeoutMs,
    );
    const done = (): void => clearTimeout(timer);
    try {
      return { exchange, head: await exchange.head, done };
    } catch (error) {
      done();
      throw error;
    }
  }

  #dispatchOptions(
    { method, path, headers, body }: TransportRequest,
    extra: { readonly credential: Credential; readonly headers: Record<string, string> },
  ): Dispatcher.DispatchOptions {
    const { authorization } = extra.credential;
    return {
      origin: this.#origin,
      method,
      path: this.#prefix + path,
      headers: {
        accept: "application/json",
        "user-agent": this.#options.userAgent,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(authorization === undefined ? {} : { authorization }),
        ...(this.#access.headers as Record<string, string | string[]> | undefined),
        ...extra.headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }

  /** Connections are bound to a client certificate: another certificate needs other connections. */
  #openPools({ certificate }: Credential): Pools | undefined {
    if (this.#closed) throw new KubeError("Unreachable", `Cannot reach "${this.#origin}": the client is closed`);
    const current = this.#pools;
    return current?.certificate?.cert === certificate?.cert ? current : undefined;
  }

  /** Called only when there are no open pools: `import()` costs a tenth of a request's CPU time, even the second time. */
  async #poolsFor(credential: Credential): Promise<Pools> {
    const openPool = await poolOpener(this.#options.startsFast);
    const open = this.#openPools(credential);
    if (open !== undefined) return open;
    const { certificate } = credential;
    const current = this.#pools;
    const { connections, connectTimeoutMs } = this.#options;
    const { serverName, insecure = false } = this.#access.tls;
    const isTls = this.#origin.startsWith("https:");
    const secureContext = isTls ? this.#secureContext(certificate) : undefined;
    const shared = { origin: this.#origin, connectTimeoutMs, serverName, insecure, secureContext };
    // Pending requests on the old connections finish there.
    if (current) void Promise.all([current.requests.close(), current.watches.close()]);
    this.#pools = {
      certificate,
      requests: openPool({ ...shared, connections }),
      watches: openPool({ ...shared, connections: null }),
    };
    return this.#pools;
  }

  /** Created once: parsing the certificates for each connection costs more than its handshake. */
  #secureContext(certificate: Credential["certificate"]): SecureContext {
    const { ca } = this.#access.tls;
    try {
      return createSecureContext({ ...(ca === undefined ? {} : { ca }), ...certificate });
    } catch (cause) {
      throw connectionError(cause, { request: "", server: this.#origin, sent: false });
    }
  }
}

function parseServer(server: string): URL {
  const url = URL.parse(server);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new KubeError("Unreachable", `Cannot use the API server "${server}": it is not an http or https URL`);
  }
  return url;
}

/** Both are loaded on first use: undici takes 0.1 s, which a process with an embedded API server does not need. */
async function poolOpener(startsFast: boolean): Promise<(settings: PoolSettings) => ConnectionPool> {
  if (!startsFast) return (await import("./undici-pool.ts")).openUndiciPool;
  const { NodePool } = await import("./node-pool.ts");
  return (settings) => new NodePool(settings);
}
