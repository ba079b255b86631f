import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { ListenAddress } from "@agent-sandbox/api";
import { type Client, Informers, type Logger, silentLogger } from "@agent-sandbox/kube";
import { Directory } from "./cluster/directory.ts";
import { Environments } from "./cluster/environment.ts";
import { removeUnanswered } from "./cluster/unanswered.ts";
import { ControlApi } from "./e2b/control/control-api.ts";
import { PolledWatchers } from "./e2b/envd/polled-watchers.ts";
import { namedByHeaders, SandboxFace } from "./e2b/sandbox-face.ts";
import { parseSandboxHost } from "./e2b/sandbox-host.ts";
import { discardRest } from "./http/discard-rest.ts";
import { notFound } from "./http/http-error.ts";
import { asHttpError } from "./http/kube-failure.ts";
import { sendError } from "./http/reply.ts";
import { Accounts } from "./keys/accounts.ts";
import { EndpointFace } from "./opensandbox/endpoint-face.ts";
import { parseEndpointPath } from "./opensandbox/endpoint-path.ts";
import { RunningCode } from "./opensandbox/execd/running-code.ts";
import { WorkFolders } from "./opensandbox/execd/work-folders.ts";
import { LifecycleApi } from "./opensandbox/lifecycle/lifecycle-api.ts";
import type { Callers, ClientFor, Mount, SandboxTokens } from "./ports.ts";
import { OpenPorts } from "./runtime/open-ports.ts";
import { Runtime } from "./runtime/runtime.ts";
import { Users } from "./runtime/users.ts";

export interface CompatOptions {
  /** With the rights of this server: to read claims, Sandboxes and the Secrets with the variables of claims. */
  readonly client: Client;
  /** What callers of the control APIs do is done with their own rights. */
  readonly clientFor: ClientFor;
  readonly callers: Callers;
  readonly tokens: SandboxTokens;
  /** The address of the router, over which sandboxes are reached. */
  readonly router: URL;
  readonly listen: ListenAddress;
  /** Other protocols on the same address. */
  readonly mounts?: readonly Mount[];
  /** Sandboxes have the host names `<port>-<sandbox>.<namespace>.<domain>`. Default `localhost`. */
  readonly domains?: readonly string[];
  /** For keys of users that are not service accounts and name no namespace. Default `default`. */
  readonly defaultNamespace?: string;
  /** The longest time that clients may give a sandbox. Default 24 h. */
  readonly maxTimeoutSeconds?: number;
  readonly log?: Logger;
}

export interface Compat extends AsyncDisposable {
  readonly url: string;
  /** Resolves when the caches are filled. */
  readonly ready: Promise<void>;
}

const headMs = 10_000;
const idleMs = 75_000;
const maxConnections = 10_000;
const shutdownMs = 5000;
const sweepMs = 60_000;

/** Serves the protocols of other platforms on one address. */
export async function startCompat(options: CompatOptions): Promise<Compat> {
  await using starting = new AsyncDisposableStack();
  const { log = silentLogger, domains = ["localhost"], listen } = options;
  const informers = starting.use(new Informers({ client: options.client, log }));
  const directory = new Directory(informers);
  const runtime = starting.use(new Runtime(() => options.router));
  const users = new Users(runtime);
  const environments = new Environments(options.client);
  const watchers = starting.use(new PolledWatchers());
  const { tokens, callers } = options;
  const shared = { directory, environments, tokens, runtime, users };
  const server = createServer({ requestTimeout: 0, headersTimeout: headMs, keepAliveTimeout: idleMs });
  server.maxConnections = maxConnections;
  const [domain = "localhost"] = domains;
  const accounts = new Accounts({
    callers,
    clientFor: options.clientFor,
    defaultNamespace: options.defaultNamespace ?? "default",
  });
  const address = (): AddressInfo => server.address() as AddressInfo;
  const general = { ...shared, callers, log, now: Date.now };
  const openPorts = new OpenPorts();
  const control = new ControlApi(
    {
      ...general,
      client: options.client,
      domain: () => `${domain}:${address().port}`,
      maxTimeoutSeconds: options.maxTimeoutSeconds ?? 86_400,
    },
    accounts,
  );
  const execd = { runningCode: new RunningCode(), workFolders: new WorkFolders(runtime) };
  const protocols = {
    control,
    face: new SandboxFace({ ...shared, watchers, openPorts }),
    lifecycle: new LifecycleApi({ ...general, address: () => new URL(urlOf(address())).host }, accounts),
    endpoints: new EndpointFace({ ...shared, openPorts, ...execd }),
  };
  const dispatcher = new Dispatcher(protocols, { domains, mounts: options.mounts ?? [], log });
  server.on("request", (request, response) => void dispatcher.serve(request, response));
  server.on("upgrade", (request, socket, head) => void dispatcher.upgrade(request, socket, head));
  server.on("clientError", (_error, socket) => socket.destroy());
  server.listen({ host: listen.host, port: listen.port });
  await once(server, "listening");
  starting.defer(async () => {
    server.close();
    server.closeIdleConnections();
    const timer = setTimeout(() => server.closeAllConnections(), shutdownMs);
    if (server.listening) await once(server, "close");
    clearTimeout(timer);
  });
  const sweep = (): Promise<void> => removeUnanswered(options.client, directory, { log, now: Date.now() });
  const sweeping = setInterval(() => void sweep(), sweepMs).unref();
  starting.defer(() => clearInterval(sweeping));
  const ready = directory.synced.then(sweep);
  ready.catch(() => undefined);
  const owned = starting.move();
  return { url: urlOf(server.address() as AddressInfo), ready, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function urlOf({ address, port, family }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

interface DispatcherOptions {
  readonly domains: readonly string[];
  readonly mounts: readonly Mount[];
  readonly log: Logger;
}

interface Protocols {
  readonly control: ControlApi;
  readonly face: SandboxFace;
  readonly lifecycle: LifecycleApi;
  readonly endpoints: EndpointFace;
}

/** Finds out which protocol a request belongs to. The host name of a sandbox decides alone. */
class Dispatcher {
  readonly #protocols: Protocols;
  readonly #options: DispatcherOptions;

  constructor(protocols: Protocols, options: DispatcherOptions) {
    this.#protocols = protocols;
    this.#options = options;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    try {
      await this.#dispatch(request, response);
    } catch (error) {
      const failure = asHttpError(error);
      if (failure.status >= 500 && failure.status !== 501 && !response.destroyed) {
        this.#options.log.warn({ err: error, method: request.method, status: failure.status }, "request failed");
      }
      // A client that is still sending would get a broken connection instead of the answer.
      if (!response.headersSent) await discardRest(request);
      sendError(response, failure);
    } finally {
      // What the handler left of the body must not stay in front of the next request.
      if (!(await discardRest(request))) request.destroy();
    }
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Node no longer listens for errors of this socket, and one that nobody handles ends the process.
    socket.on("error", () => socket.destroy());
    try {
      const { face, endpoints } = this.#protocols;
      const byHost = parseSandboxHost(request.headers.host, this.#options.domains);
      const url = parseTarget(request.url ?? "/");
      const path = byHost === undefined ? parseEndpointPath(url.pathname) : undefined;
      if (path !== undefined) {
        await endpoints.serveUpgrade(request, socket, head, { path, search: url.search });
        return;
      }
      const named = byHost ?? namedByHeaders(request);
      if (named === undefined) throw notFound("Nothing to upgrade to");
      await face.serveUpgrade(request, socket, head, named);
    } catch (error) {
      const { status, message } = asHttpError(error);
      socket.end(
        `HTTP/1.1 ${status} Refused\r\ncontent-length: ${Buffer.byteLength(message)}\r\nconnection: close\r\n\r\n${message}`,
      );
    }
  }

  async #dispatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { control, face, lifecycle, endpoints } = this.#protocols;
    const url = parseTarget(request.url ?? "/");
    const byHost = parseSandboxHost(request.headers.host, this.#options.domains);
    if (byHost !== undefined) return face.serve(request, response, url, byHost);
    if (url.pathname === "/e2b" || url.pathname.startsWith("/e2b/")) {
      return control.serve(request, response, new URL(url.pathname.slice("/e2b".length) + url.search, base));
    }
    const byHeaders = namedByHeaders(request);
    if (byHeaders !== undefined) return face.serve(request, response, url, byHeaders);
    const endpoint = parseEndpointPath(url.pathname);
    if (endpoint !== undefined) return endpoints.serve(request, response, endpoint, url.search);
    if (lifecycle.serves(url.pathname)) return lifecycle.serve(request, response, url);
    const mount = this.#options.mounts.find(({ paths }) => paths.includes(url.pathname));
    if (mount !== undefined) return mount.serve(request, response, url);
    if (url.pathname === "/files") return face.serveLink(request, response, url);
    throw notFound("Nothing is served here: see docs/clients.md for the addresses");
  }
}

const base = "http://compat";

function parseTarget(target: string): URL {
  // A target such as `//host/path` would be parsed as another host.
  const url = URL.parse(base + (target.startsWith("/") ? target : `/${target}`));
  if (url === null) throw notFound("The address is not valid");
  return url;
}
