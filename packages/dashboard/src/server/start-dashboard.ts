import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ListenAddress } from "@agent-sandbox/api";
import { type Logger, silentLogger } from "@agent-sandbox/kube";
import { Assets } from "./assets.ts";
import { dashboardHost } from "./check-request.ts";
import { Handler } from "./handler.ts";
import { LoginCodes } from "./login-codes.ts";
import { SessionFile } from "./session-file.ts";
import { Sessions } from "./sessions.ts";
import { Streams } from "./streams.ts";
import { Upstream } from "./upstream.ts";

export interface DashboardOptions {
  readonly listen: ListenAddress;
  /** The API server and its certificate authority, in PEM. */
  readonly api: { readonly url: string; readonly ca?: string | undefined };
  /** The address of the router. */
  readonly router: string;
  /** The folder with the built page. */
  readonly page: string;
  /** Keeps sessions over a restart. Default: in memory only. */
  readonly sessionFile?: string;
  readonly version?: string;
  readonly log?: Logger;
}

export interface Dashboard extends AsyncDisposable {
  /** The address that browsers open. */
  readonly url: string;
  /** Where programs ask for login links. */
  readonly address: string;
}

const headMs = 10_000;
const idleMs = 75_000;
const maxConnections = 2000;
const shutdownMs = 2000;

/** Serves the dashboard. It has no rights: every call is made with the token of the user who logged in. */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  await using starting = new AsyncDisposableStack();
  const { log = silentLogger, listen, version = "" } = options;
  const api = starting.use(new Upstream(options.api.url, { ca: options.api.ca }));
  const router = starting.use(new Upstream(options.router));
  const file = options.sessionFile === undefined ? undefined : new SessionFile(options.sessionFile);
  const sessions = starting.use(new Sessions(file));
  const streams = starting.use(new Streams({ api, router }));
  const server = createServer({ requestTimeout: 0, headersTimeout: headMs, keepAliveTimeout: idleMs });
  server.maxConnections = maxConnections;
  const port = (): number => (server.address() as AddressInfo).port;
  const assets = new Assets(options.page);
  const handler = new Handler({ api, router, sessions, streams, assets, codes: new LoginCodes(), port, version, log });
  server.on("request", (request, response) => void handler.serve(request, response));
  server.on("upgrade", (request, socket, head) => handler.upgrade(request, socket, head));
  server.on("clientError", (_error, socket) => socket.destroy());
  server.listen({ host: listen.host, port: listen.port });
  await once(server, "listening");
  starting.defer(async () => {
    server.close();
    streams[Symbol.dispose]();
    server.closeIdleConnections();
    const timer = setTimeout(() => server.closeAllConnections(), shutdownMs);
    if (server.listening) await once(server, "close");
    clearTimeout(timer);
  });
  const owned = starting.move();
  return {
    url: `http://${dashboardHost}:${port()}`,
    address: addressOf(server.address() as AddressInfo),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function addressOf({ address, port, family }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}
