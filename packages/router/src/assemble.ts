import { randomBytes } from "node:crypto";
import type { Sandbox } from "@agent-sandbox/api";
import { Informers, silentLogger, systemScheduler } from "@agent-sandbox/kube";
import { ActivityTracker } from "./activity/activity-tracker.ts";
import { RuntimeWatch } from "./activity/runtime-watch.ts";
import { AccessReviewer } from "./auth/access-reviewer.ts";
import { Authenticator } from "./auth/authenticator.ts";
import { Authorizer } from "./auth/authorizer.ts";
import { type Callers, callersOf } from "./auth/callers.ts";
import { loadKeyring } from "./auth/key-files.ts";
import { type Keyring, signingKey } from "./auth/keyring.ts";
import { Logins } from "./auth/logins.ts";
import { SandboxTokens } from "./auth/sandbox-tokens.ts";
import { TokenIssuer } from "./auth/token-issuer.ts";
import { TokenReviewer } from "./auth/token-reviewer.ts";
import { Directory } from "./cluster/directory.ts";
import { findSandbox } from "./cluster/resolve.ts";
import { CrossOrigin } from "./cors/cross-origin.ts";
import { Deadlines } from "./deadlines.ts";
import { ConnectionLimit } from "./listen/connection-limit.ts";
import { Backlog } from "./proxy/backlog.ts";
import { GrpcForwarder } from "./proxy/forward-grpc.ts";
import { HttpForwarder } from "./proxy/forward-http.ts";
import { TunnelForwarder } from "./proxy/forward-tunnel.ts";
import { UpgradeForwarder } from "./proxy/forward-upgrade.ts";
import { Splices } from "./proxy/splices.ts";
import { Admission } from "./request/admit-request.ts";
import { RequestAuthorizer } from "./request/authorize-request.ts";
import { ConcurrencyLimits } from "./request/concurrency-limits.ts";
import { RequestHandler } from "./request/handle-request.ts";
import { TcpHandler } from "./request/handle-tcp.ts";
import { Reauthorizer } from "./request/reauthorizer.ts";
import { SandboxResolver } from "./request/resolve-sandbox.ts";
import { RouterEndpoints } from "./request/router-endpoints.ts";
import {
  type AuthOptions,
  defaultHeadMs,
  defaultLimits,
  defaultMaxConnections,
  defaultMaxHeaderBytes,
  defaultMaxQueuedBytes,
  defaultRetries,
  defaultSleeping,
  defaultWaiting,
  type RouterOptions,
} from "./router-options.ts";
import { Metrics } from "./telemetry/metrics.ts";
import { RequestTelemetry } from "./telemetry/request-telemetry.ts";
import { watchFiles } from "./tls/watch-files.ts";
import { UpstreamConnector } from "./upstream/connector.ts";
import { Dialer } from "./upstream/dialer.ts";
import { GrpcSessions } from "./upstream/grpc-sessions.ts";
import { PodContinuity } from "./upstream/pod-continuity.ts";
import { PodIdentity } from "./upstream/pod-identity.ts";
import { RuntimeTokens } from "./upstream/runtime-tokens.ts";
import { UpstreamHeaders } from "./upstream/upstream-headers.ts";
import { UpstreamPool } from "./upstream/upstream-pool.ts";
import { SandboxSessions } from "./wake/pod-sessions.ts";
import { SandboxWaiter } from "./wake/sandbox-waiter.ts";
import { WaitQueue } from "./wake/wait-queue.ts";
import { Waker } from "./wake/waker.ts";

export interface Parts {
  readonly directory: Directory;
  readonly metrics: Metrics;
  readonly requests: RequestHandler;
  readonly tcp: TcpHandler;
  readonly splices: Splices;
  readonly backlog: Backlog;
  readonly connections: ConnectionLimit;
  readonly sessions: SandboxSessions;
  readonly tokens: SandboxTokens;
  readonly callers: Callers;
}

/** The precision of request timeouts. */
const timeoutStepMs = 100;

/** Creates the parts of the router. Disposing `stack` stops everything that they start. */
export function assemble(options: RouterOptions, stack: AsyncDisposableStack): Parts {
  const { log = silentLogger, accessLog = true, tracer, maxBodyBytes = 0 } = options;
  const metrics = new Metrics(options.build ?? { version: "dev", commit: "unknown" });
  const telemetry = new RequestTelemetry({ metrics, log, accessLog, tracer });
  const cluster = assembleCluster(options, metrics, stack);
  const upstream = assembleUpstream(options, cluster, metrics, stack);
  const { directory, waiter, activity, connector } = cluster;
  const { dial, splices, runtimeTokens, backlog } = upstream;
  const auth = assembleAuth(options, directory, stack);
  const resolver = new SandboxResolver({ directory, waiter });
  const reauthorizer = stack.use(new Reauthorizer(options.recheckMs));
  const authorizer = new RequestAuthorizer({ authorizer: auth.authorizer, resolver, reauthorizer, metrics });
  const connections = new ConnectionLimit(options.maxConnections ?? defaultMaxConnections);
  const limits = new ConcurrencyLimits({ ...defaultLimits, ...options.limits });
  const headers = new UpstreamHeaders({ runtimeTokens, telemetry });
  const forwarding = { ...upstream, headers };
  const tunnel = new TunnelForwarder(forwarding);
  const bodyMs = options.headMs ?? defaultHeadMs;
  const requests = new RequestHandler({
    routes: {
      domains: domainsOf(options),
      allowLoopbackPodIp: options.allowLoopbackPodIp ?? false,
      hosts: options.hosts?.map((host) => host.toLowerCase()),
    },
    endpoints: new RouterEndpoints({ resolver, authorizer, issuer: auth.issuer, logins: auth.logins, bodyMs }),
    crossOrigin: new CrossOrigin(options.allowedOrigins ?? [], domainsOf(options)),
    resolver,
    authorizer,
    admission: new Admission({ limits, connections, maxBodyBytes }),
    connector,
    activity,
    forwarders: {
      http: new HttpForwarder({ ...forwarding, maxBodyBytes }),
      grpc: new GrpcForwarder(forwarding),
      upgrade: new UpgradeForwarder(forwarding),
      tunnel,
    },
    telemetry,
    deadlines: stack.use(new Deadlines(timeoutStepMs)),
    timeoutMs: options.timeoutMs ?? 180_000,
  });
  const tcp = new TcpHandler({ connector, activity, tunnel, dial, telemetry });
  const { tokens, callers } = auth;
  const { sessions } = cluster;
  return { directory, metrics, requests, tcp, splices, backlog, connections, sessions, tokens, callers };
}

type Cluster = ReturnType<typeof assembleCluster>;

/** The caches of the cluster, and what wakes sandboxes and keeps them awake. */
function assembleCluster(options: RouterOptions, metrics: Metrics, stack: AsyncDisposableStack) {
  const { client, scheduler = systemScheduler, log = silentLogger, namespace, claims = true } = options;
  const informers = options.informers ?? stack.use(new Informers({ client, log, scheduler }));
  const isShared = options.informers !== undefined;
  const directory = stack.use(
    new Directory({ informers, isShared, claims, ...(namespace === undefined ? {} : { namespace }) }),
  );
  const sandboxByUid = (uid: string) => directory.sandboxByUid(uid);
  const activity = stack.use(new ActivityTracker({ client, scheduler, log, sandboxByUid }));
  stack.use(
    directory.sandboxInformer.subscribe(({ deltas }) => {
      for (const { new: sandbox } of deltas) if (sandbox?.metadata.uid) activity.changed(sandbox.metadata.uid);
    }),
  );
  const onWoken = (sandbox: Sandbox): void => {
    activity.recorded(sandbox);
    metrics.woke(sandbox.metadata.namespace ?? "-");
  };
  const notify = (key: string): void => directory.notify(key);
  const waker = stack.use(new Waker({ client, scheduler, log, notify, onWoken }));
  const queue = new WaitQueue({ ...defaultWaiting, ...options.waiting });
  const { holdMs = 60_000 } = options;
  const waiter = new SandboxWaiter({ directory, queue, waker, scheduler, holdMs });
  const retries = { ...defaultRetries, ...options.retries };
  metrics.waitingFrom(() => queue.count);
  const sessions = new SandboxSessions({ directory, activity, queue, waker, scheduler, holdMs });
  const connector = new UpstreamConnector({ waiter, metrics, scheduler, retries });
  return { directory, activity, waiter, waker, queue, sessions, connector };
}

/** The connections to pods. */
function assembleUpstream(
  options: RouterOptions,
  { directory, activity, waiter, waker, queue }: Cluster,
  metrics: Metrics,
  stack: AsyncDisposableStack,
) {
  const { client, scheduler = systemScheduler, log = silentLogger, dialMs: timeoutMs = 5000 } = options;
  const backlog = new Backlog(options.maxQueuedBytes ?? defaultMaxQueuedBytes);
  const identity = new PodIdentity(client);
  const dialer = new Dialer({
    confirms: (target) => identity.confirms(target),
    onGone: (target) => directory.markGone(target),
    timeoutMs,
  });
  const dial = dialer.dial.bind(dialer);
  const maxHeaderBytes = options.maxHeaderBytes ?? defaultMaxHeaderBytes;
  const pool = stack.use(new UpstreamPool({ dial, idlePerTarget: 256, idleTotal: 2048, maxHeaderBytes, backlog }));
  const sessions = stack.use(new GrpcSessions({ dial }));
  const continuity = stack.use(new PodContinuity(directory));
  const limits = { ...defaultSleeping, ...options.sleeping };
  const splices = new Splices({ backlog, continuity, directory, waker, queue, limits });
  stack.defer(() => splices.destroy());
  continuity.manageRequests(pool);
  continuity.manageRequests(sessions);
  continuity.manageStreams(splices);
  metrics.sleepingFrom(() => splices.sleeping);
  const runtimeTokens = new RuntimeTokens({ client, now: () => scheduler.now() });
  stack.use(new RuntimeWatch({ directory, activity, waiter, pool, runtimeTokens, scheduler, log }));
  return { pool, sessions, splices, dial, runtimeTokens, backlog };
}

/** Authentication and authorization. */
function assembleAuth(options: RouterOptions, directory: Directory, stack: AsyncDisposableStack) {
  const { client, scheduler = systemScheduler, auth = {} } = options;
  const keys = keysOf(auth, options, stack);
  const [now, date] = [() => scheduler.now(), () => scheduler.date()];
  const { ttlMs = 30_000, cacheSize = 2048, audiences = [], accessReview = true } = auth.tokenReview || {};
  const reviews = { client, ttlMs, cacheSize, now };
  const tokens = auth.tokenReview === false ? undefined : new TokenReviewer({ ...reviews, audiences });
  const access = accessReview ? new AccessReviewer(reviews) : undefined;
  const authenticator = new Authenticator({ requireToken: auth.requireToken ?? true, keys, tokens, date });
  const authorizer = new Authorizer({
    anonymous: auth.anonymous ?? false,
    authenticator,
    access,
  });
  const issuer = new TokenIssuer({ client, keys, date });
  const sandboxOf = (route: Parameters<typeof findSandbox>[0]): Sandbox | undefined => {
    const found = findSandbox(route, directory);
    return found === "pending" ? undefined : found;
  };
  const [domain] = domainsOf(options);
  const logins = new Logins({ keys, authenticator, authorizer, sandboxOf, domain, date });
  return { authorizer, issuer, logins, tokens: new SandboxTokens(keys), callers: callersOf(tokens, access) };
}

/** The current signing keys. If the files change and cannot be read, the previous keys stay in use. */
function keysOf(auth: AuthOptions, { log = silentLogger }: RouterOptions, stack: AsyncDisposableStack): () => Keyring {
  const { keyFiles, keys } = auth;
  if (keyFiles === undefined) {
    const ring = keys ?? ([signingKey(randomBytes(32).toString("hex"))] as Keyring);
    return () => ring;
  }
  let current = loadKeyring(keyFiles);
  const reload = (): void => {
    try {
      current = loadKeyring(keyFiles);
      log.info({ keys: current.map(({ id }) => id) }, "signing keys reloaded");
    } catch (error) {
      log.error({ err: error }, "signing keys not reloaded");
    }
  };
  stack.use(watchFiles(keyFiles, reload));
  return () => current;
}

function domainsOf({ domains = ["localhost"] }: RouterOptions): readonly string[] {
  return domains.map((domain) => domain.toLowerCase());
}
