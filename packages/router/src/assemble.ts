import { randomBytes } from "node:crypto";
import type { Sandbox } from "@agent-sandbox/api";
import { Informers, silentLogger, systemScheduler } from "@agent-sandbox/kube";
import { ActivityTracker } from "./activity/activity-tracker.ts";
import { RuntimeWatch } from "./activity/runtime-watch.ts";
import { AccessReviewer } from "./auth/access-reviewer.ts";
import { Authorizer } from "./auth/authorizer.ts";
import { loadKeyring } from "./auth/key-files.ts";
import { type Keyring, signingKey } from "./auth/keyring.ts";
import { Logins } from "./auth/logins.ts";
import { TokenOffice } from "./auth/token-office.ts";
import { TokenReviewer } from "./auth/token-reviewer.ts";
import { Directory } from "./cluster/directory.ts";
import { findSandbox } from "./cluster/resolve.ts";
import { Deadlines } from "./deadlines.ts";
import { Metrics } from "./observe/metrics.ts";
import { Observer } from "./observe/observer.ts";
import { Backlog } from "./proxy/backlog.ts";
import { ConnectionPlaces } from "./proxy/connection-places.ts";
import { Dialer } from "./proxy/dialer.ts";
import { FrontDoor } from "./proxy/front-door.ts";
import { GrpcProxy } from "./proxy/grpc-proxy.ts";
import { GrpcSessions } from "./proxy/grpc-sessions.ts";
import { HttpProxy } from "./proxy/http-proxy.ts";
import { LimitedUse } from "./proxy/limits.ts";
import { OwnRoutes } from "./proxy/own-routes.ts";
import { Pathfinder } from "./proxy/pathfinder.ts";
import { PodIdentity } from "./proxy/pod-identity.ts";
import { Rechecks } from "./proxy/rechecks.ts";
import { RuntimeTokens } from "./proxy/runtime-tokens.ts";
import { Splices } from "./proxy/splices.ts";
import { TunnelProxy } from "./proxy/tunnel-proxy.ts";
import { UpgradeProxy } from "./proxy/upgrade-proxy.ts";
import { UpstreamPool } from "./proxy/upstream-pool.ts";
import {
  type AuthOptions,
  defaultHeadMs,
  defaultLimits,
  defaultMaxConnections,
  defaultMaxHeaderBytes,
  defaultMaxQueuedBytes,
  defaultRetries,
  defaultWaiting,
  type RouterOptions,
} from "./router-options.ts";
import { watchFiles } from "./tls/watch-files.ts";
import { Gate } from "./wake/gate.ts";
import { WaitingRoom } from "./wake/waiting-room.ts";
import { Waker } from "./wake/waker.ts";

export interface Parts {
  readonly directory: Directory;
  readonly metrics: Metrics;
  readonly http: HttpProxy;
  readonly upgrades: UpgradeProxy;
  readonly tunnels: TunnelProxy;
  readonly splices: Splices;
  readonly backlog: Backlog;
  readonly places: ConnectionPlaces;
}

/** How exactly the time a request may stand still is kept. */
const requestStepMs = 100;

/** Puts the router together; everything it starts is stopped by `stack`. */
export function assemble(options: RouterOptions, stack: AsyncDisposableStack): Parts {
  const metrics = new Metrics(options.build ?? { version: "dev", commit: "unknown" });
  const cluster = assembleCluster(options, metrics, stack);
  const auth = assembleAuth(options, cluster.directory, stack);
  const ways = assembleWays(options, cluster, stack);
  const { directory } = cluster;
  const { log = silentLogger, accessLog = true, tracer } = options;
  const observer = new Observer({ metrics, log, accessLog, tracer });
  const places = new ConnectionPlaces(options.maxConnections ?? defaultMaxConnections);
  const door = new FrontDoor({
    routes: {
      domains: domainsOf(options),
      allowLoopbackPodIp: options.allowLoopbackPodIp ?? false,
      hosts: options.hosts?.map((host) => host.toLowerCase()),
    },
    directory,
    authorizer: auth.authorizer,
    limits: new LimitedUse({ ...defaultLimits, ...options.limits }),
    pathfinder: cluster.pathfinder,
    activity: cluster.activity,
    runtimeTokens: ways.runtimeTokens,
    places,
    rechecks: stack.use(new Rechecks(options.recheckMs)),
    metrics,
  });
  const { pool, dial, splices } = ways;
  const timeoutMs = options.timeoutMs ?? 180_000;
  const grpc = new GrpcProxy({ door, sessions: ways.sessions, observer });
  const own = new OwnRoutes({
    door,
    office: auth.office,
    logins: auth.logins,
    bodyMs: options.headMs ?? defaultHeadMs,
  });
  const maxBodyBytes = options.maxBodyBytes ?? 0;
  const deadlines = stack.use(new Deadlines(requestStepMs));
  return {
    directory,
    metrics,
    http: new HttpProxy({ door, pool, grpc, own, observer, deadlines, timeoutMs, maxBodyBytes }),
    upgrades: new UpgradeProxy({ door, pool, splices, observer, timeoutMs }),
    tunnels: new TunnelProxy({ door, dial, splices, observer }),
    splices,
    backlog: ways.backlog,
    places,
  };
}

type Cluster = ReturnType<typeof assembleCluster>;

/** What knows the sandboxes, wakes them and keeps them awake. */
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
  const poke = (key: string): void => directory.poke(key);
  const waker = stack.use(new Waker({ client, scheduler, log, poke, onWoken }));
  const room = new WaitingRoom({ ...defaultWaiting, ...options.waiting });
  const gate = new Gate({ directory, room, waker, scheduler, holdMs: options.holdMs ?? 60_000 });
  const retries = { ...defaultRetries, ...options.retries };
  metrics.waitingFrom(() => room.count);
  return { directory, activity, gate, pathfinder: new Pathfinder({ gate, metrics, scheduler, retries }) };
}

/** What reaches the pods. */
function assembleWays(options: RouterOptions, { directory, activity, gate }: Cluster, stack: AsyncDisposableStack) {
  const { client, scheduler = systemScheduler, log = silentLogger, dialMs: timeoutMs = 5000 } = options;
  const backlog = new Backlog(options.maxQueuedBytes ?? defaultMaxQueuedBytes);
  const identity = new PodIdentity(client);
  const dialer = new Dialer({
    confirms: (target) => identity.confirms(target),
    onGone: (podUid) => directory.markGone(podUid),
    timeoutMs,
  });
  const dial = dialer.dial.bind(dialer);
  const maxHeaderBytes = options.maxHeaderBytes ?? defaultMaxHeaderBytes;
  const pool = stack.use(new UpstreamPool({ dial, idlePerTarget: 256, idleInAll: 2048, maxHeaderBytes, backlog }));
  const sessions = stack.use(new GrpcSessions({ dial }));
  const splices = new Splices(backlog);
  stack.defer(() => splices.destroy());
  stack.use(
    directory.onPodGone((podUid) => {
      pool.drop(podUid);
      sessions.drop(podUid);
      splices.drop(podUid);
    }),
  );
  const runtimeTokens = new RuntimeTokens({ client, now: () => scheduler.now() });
  stack.use(new RuntimeWatch({ directory, activity, gate, pool, runtimeTokens, scheduler, log }));
  return { pool, sessions, splices, dial, runtimeTokens, backlog };
}

/** Who may. */
function assembleAuth(options: RouterOptions, directory: Directory, stack: AsyncDisposableStack) {
  const { client, scheduler = systemScheduler, auth = {} } = options;
  const keys = keysOf(auth, options, stack);
  const [now, date] = [() => scheduler.now(), () => scheduler.date()];
  const { ttlMs = 30_000, cacheSize = 2048, audiences = [], accessReview = true } = auth.tokenReview || {};
  const reviews = { client, ttlMs, cacheSize, now };
  const authorizer = new Authorizer({
    anonymous: auth.anonymous ?? false,
    requireToken: auth.requireToken ?? true,
    keys,
    tokens: auth.tokenReview === false ? undefined : new TokenReviewer({ ...reviews, audiences }),
    access: accessReview ? new AccessReviewer(reviews) : undefined,
    date,
  });
  const office = new TokenOffice({ client, keys, date });
  const sandboxOf = (route: Parameters<typeof findSandbox>[0]): Sandbox | undefined => {
    const found = findSandbox(route, directory);
    return found === "pending" ? undefined : found;
  };
  const [domain] = domainsOf(options);
  return { authorizer, office, logins: new Logins({ keys, authorizer, sandboxOf, domain, date }) };
}

/** The signing keys as they are at the moment. A file that has become useless changes nothing. */
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
      log.info({ keys: current.map(({ id }) => id) }, "signing keys read");
    } catch (error) {
      log.error({ err: error }, "signing keys kept: the files cannot be used");
    }
  };
  stack.use(watchFiles(keyFiles, reload));
  return () => current;
}

function domainsOf({ domains = ["localhost"] }: RouterOptions): readonly string[] {
  return domains.map((domain) => domain.toLowerCase());
}
