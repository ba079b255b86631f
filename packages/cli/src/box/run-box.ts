import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiServer, type Listening, nodeIdentity, type PartMetrics } from "@agent-sandbox/apiserver";
import type { ManagerMetrics } from "@agent-sandbox/controllers";
import { KubeError, type Logger, type PodSessions, type PodStreams, type RouterForward } from "@agent-sandbox/kube";
import { createNode, type EmbeddedNode, type NodeSettings } from "@agent-sandbox/node";
import type { Router } from "@agent-sandbox/router";
import { openLog } from "../open-log.ts";
import { reasonOf } from "../report-failure.ts";
import { readApiSettings } from "./api-settings.ts";
import type { StartReport } from "./background.ts";
import { keepBounded } from "./bounded-log.ts";
import { startBoxCompat } from "./box-compat.ts";
import { createControllersMetrics, startBoxControllers } from "./box-controllers.ts";
import { startBoxDashboard } from "./box-dashboard.ts";
import type { BoxPaths } from "./box-paths.ts";
import { startBoxRouter } from "./box-router.ts";
import { clientAs } from "./component-client.ts";
import { closeToGroups, openToGroup } from "./group-access.ts";
import type { MachineGroup } from "./machine-group.ts";
import { forgetRunningBox, recordRunningBox } from "./running-box.ts";
import { sandboxdPath } from "./sandboxd-path.ts";
import { explainFailedStart } from "./start-failure.ts";

/** Runs the box in this process until SIGTERM or SIGINT. Sandboxes keep running after it exits. */
export async function runBox(paths: BoxPaths, options: BoxOptions): Promise<void> {
  const log = openLog();
  const stopped = nextSignal("SIGTERM", "SIGINT");
  using _bound = inBackground() ? keepBounded(paths.log) : undefined;
  // Before the box listens, its parts may wait only for timers and files that do not keep a process alive.
  using _alive = keepAlive();
  try {
    await using box = await startBox(paths, options, log);
    const words = inBackground() ? { words: process.argv.slice(2) } : {};
    recordRunningBox(paths, { ...box, node: options.node, gid: options.group?.gid, ...words });
    log.info({ url: box.url, routerUrl: box.routerUrl, dataDir: paths.dataDir }, "box started");
    report({ ready: true, warnings: box.warnings });
    log.info({ signal: await stopped }, "box stopping");
  } catch (error) {
    const failure = explainFailedStart(error, { paths, addresses: options.addresses }) ?? error;
    report({ ready: false, error: reasonOf(failure) });
    // A component that cannot stop must not keep the process and its ports.
    setTimeout(() => process.exit(1), stopLimitMs).unref();
    throw failure;
  }
  forgetRunningBox(paths);
  log.info({}, "box stopped");
}

export interface BoxAddresses {
  readonly api: { readonly host: string; readonly port: number };
  readonly router: { readonly host: string; readonly port: number };
  readonly dashboard: { readonly host: string; readonly port: number };
  readonly compat: { readonly host: string; readonly port: number };
}

export interface BoxOptions {
  readonly addresses: BoxAddresses;
  /** Node settings from the command line. */
  readonly node: NodeSettings;
  /** File of the audit log. Default: no audit log. */
  readonly auditLog?: string | undefined;
  /** The group whose members may use the box. Default: none, so that only root may. */
  readonly group?: MachineGroup | undefined;
  /** Origins whose pages may use the API server and the router. Default: none. */
  readonly allowedOrigins?: readonly string[] | undefined;
}

interface Box extends AsyncDisposable {
  readonly url: string;
  readonly routerUrl: string;
  readonly dashboardUrl: string;
  readonly compatUrl: string;
  readonly warnings: readonly string[];
}

/** Starts API server, node, controllers and router in this order; stops them in reverse order. */
async function startBox(paths: BoxPaths, options: BoxOptions, log: Logger): Promise<Box> {
  const starting = new AsyncDisposableStack();
  try {
    return await startComponents(starting, paths, options, log);
  } catch (error) {
    await Promise.race([starting.disposeAsync(), sleep(stopLimitMs)]);
    throw error;
  }
}

/** How long components may take to stop when the start fails. */
const stopLimitMs = 10_000;

async function startComponents(
  starting: AsyncDisposableStack,
  paths: BoxPaths,
  { addresses, node: settings, auditLog, allowedOrigins = [], group }: BoxOptions,
  log: Logger,
): Promise<Box> {
  const nodeName = hostname().toLowerCase();
  const metrics = createControllersMetrics();
  let node: EmbeddedNode | undefined;
  let listening: Listening | undefined;
  const podStreams = lateStreams(() => node?.podStreams);
  const started = Promise.withResolvers<Router>();
  const audit = auditLog === undefined ? undefined : { path: auditLog };
  const server = starting.use(
    await createApiServer({
      dataDir: paths.dataDir,
      nodeName,
      podStreams,
      podSessions: lateSessions(started.promise),
      routerForward: lateForward(started.promise),
      partMetrics: partMetrics(metrics, started.promise),
      logger: log,
      audit,
      allowedOrigins,
      ...(await readApiSettings(paths.dataDir)),
    }),
  );
  node = starting.use(
    await createNode({
      client: clientAs(server, nodeIdentity(nodeName)),
      nodeName,
      dataDir: paths.dataDir,
      sandboxd: sandboxdPath(),
      apiServer: () => listening && { ...listening, host: hostOf(listening) },
      ...settings,
      logger: log,
    }),
  );
  const controllers = starting.use(startBoxControllers(server, metrics, { instance: nodeName, log }));

  listening = await server.listen(addresses.api);
  listening.writeKubeconfig(paths.kubeconfig);
  const router = starting.use(await startBoxRouter(server, { listen: addresses.router, allowedOrigins, paths, log }));
  const compat = starting.use(await startBoxCompat({ server, listening, router, listen: addresses.compat, log }));
  const dashboard = starting.use(
    await startBoxDashboard({ listening, router, listen: addresses.dashboard, paths, log }),
  );
  const access = { paths, transport: server.transport, listening, log };
  if (group === undefined) await closeToGroups(access);
  else starting.use(await openToGroup(group, access));
  await Promise.all([node.ready, controllers.ready, router.ready, compat.ready]);
  started.resolve(router);
  return {
    url: listening.url,
    routerUrl: router.url,
    dashboardUrl: dashboard.url,
    compatUrl: compat.url,
    warnings: node.warnings,
    ...disposeOf(starting.move()),
  };
}

const disposeOf = (owned: AsyncDisposableStack): AsyncDisposable => ({
  [Symbol.asyncDispose]: () => owned.disposeAsync(),
});

/** The host of a URL, without the brackets of an IPv6 address. */
const hostOf = ({ url }: Listening): string => new URL(url).hostname.replace(/^\[|\]$/g, "");

/** Streams that fail with ServiceUnavailable until the node has started: the API server starts before the node. */
function lateStreams(current: () => Required<PodStreams> | undefined): PodStreams {
  const streams = async (): Promise<Required<PodStreams>> => {
    const found = current();
    if (found === undefined) throw new KubeError("ServiceUnavailable", "the node is still starting");
    return found;
  };
  return {
    exec: async (request) => (await streams()).exec(request),
    attach: async (request) => (await streams()).attach(request),
    logs: async (request) => (await streams()).logs(request),
    portForward: async (request) => (await streams()).portForward(request),
    metrics: async (path) => (await streams()).metrics(path),
    usage: async () => (await streams()).usage(),
    snapshots: {
      export: async (place, signal) => (await streams()).snapshots.export(place, signal),
      import: async (content) => (await streams()).snapshots.import(content),
    },
  };
}

/** The API server serves before the router knows the Sandboxes; sessions wait for that. */
function lateSessions(router: Promise<Router>): PodSessions {
  return { begin: async (target, signal) => (await router).podSessions.begin(target, signal) };
}

function partMetrics(controllers: ManagerMetrics, router: Promise<Router>): PartMetrics {
  return { manager: () => controllers.registry.metrics(), router: async () => (await router).metrics() };
}

/** Port-forwards to the router wait in the same way. */
function lateForward(router: Promise<Router>): RouterForward {
  return { connect: async (caller) => (await router).connect(caller) };
}

function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, aliveMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Any interval keeps the process alive. */
const aliveMs = 3_600_000;

function nextSignal(...names: NodeJS.Signals[]): Promise<string> {
  return new Promise((resolve) => {
    for (const name of names) process.once(name, () => resolve(name));
  });
}

/** Whether `up` started this process in the background: it waits for a report, and the output is the log file. */
function inBackground(): boolean {
  return process.send !== undefined;
}

function report(message: StartReport): void {
  process.send?.(message);
}
