import type { PodSessions, RouterForward } from "@agent-sandbox/kube";
import { assemble } from "./assemble.ts";
import type { Callers } from "./auth/callers.ts";
import type { SandboxTokens } from "./auth/sandbox-tokens.ts";
import { type BoundAddress, Listeners, type TcpListener } from "./listen/listeners.ts";
import type { Route } from "./route/route.ts";
import type { ListenAddress, RouterOptions } from "./router-options.ts";
import { startProbes } from "./telemetry/probes.ts";

export interface Router extends AsyncDisposable, RouterForward {
  readonly address: BoundAddress | undefined;
  readonly secureAddress: BoundAddress | undefined;
  readonly metricsAddress: BoundAddress | undefined;
  readonly probesAddress: BoundAddress | undefined;
  /** `http://host:port` of the plain listener, or `https://host:port` if there is only a TLS listener. */
  readonly url: string;
  /** Resolves when the caches are filled. Until then requests get status 503. */
  readonly ready: Promise<void>;
  /** Sessions with Pods that do not pass through the router wake their Sandbox and keep it awake if they are reported here. */
  readonly podSessions: PodSessions;
  /** Tokens for clients that keep them as long as their sandbox. */
  readonly tokens: SandboxTokens;
  readonly callers: Callers;
  /** The metrics in the Prometheus text format. */
  metrics(): Promise<string>;
  /** Forwards every connection to this address to one port of one sandbox. Connections are not authenticated. */
  listenTcp(target: Pick<Route, "namespace" | "name" | "port">, listen: ListenAddress): Promise<TcpListener>;
}

/**
 * Binds all addresses, then serves until the router is disposed. Disposing it lets requests in progress finish, sends a
 * close frame to WebSockets, and closes what is left after `shutdownMs`.
 */
export async function startRouter(options: RouterOptions): Promise<Router> {
  await using starting = new AsyncDisposableStack();
  const parts = assemble(options, starting);
  const state = { isBound: false, isDraining: false };
  const isReady = (): boolean => state.isBound && !state.isDraining && parts.directory.hasSynced;
  // Started before the listeners, so that they stop after them: `/readyz` must report the shutdown.
  const { metricsAddress, probesAddress } = await startProbes(options, { isReady, metrics: parts.metrics }, starting);
  const listeners = new Listeners(options, parts);
  starting.defer(() => listeners.stop());
  const address = options.listen && (await listeners.listen(options.listen));
  const secureAddress = options.secure && (await listeners.listenSecure(options.secure, starting));
  state.isBound = true;
  const tcpListeners = starting.use(new AsyncDisposableStack());
  const ready = parts.directory.synced.then(() => undefined);
  // Nobody is obliged to await it, so a rejection must not be reported as unhandled.
  ready.catch(() => undefined);
  const owned = starting.move();
  return {
    address,
    secureAddress,
    metricsAddress,
    probesAddress,
    url: urlOf(address, secureAddress),
    ready,
    podSessions: parts.sessions,
    tokens: parts.tokens,
    callers: parts.callers,
    connect: (caller) => listeners.connect(caller),
    metrics: () => parts.metrics.registry.metrics(),
    listenTcp: async (target, listen) => tcpListeners.use(await listeners.listenTcp(target, listen)),
    [Symbol.asyncDispose]: () => {
      state.isDraining = true;
      return owned.disposeAsync();
    },
  };
}

function urlOf(plain: BoundAddress | undefined, secure: BoundAddress | undefined): string {
  const [scheme, address] = plain === undefined ? ["https", secure] : ["http", plain];
  if (address === undefined) throw new Error("Cannot start the router: no address to listen on was given");
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${scheme}://${host}:${address.port}`;
}
