import {
  type Client,
  createClient,
  type Informers,
  type Logger,
  systemScheduler,
  type Transport,
  whileLeading,
} from "@agent-sandbox/kube";
import type { Tracing } from "../pass-trace.ts";
import { startControllers } from "../start-controllers.ts";
import { controllersFromFlags } from "./controllers-from-flags.ts";
import type { ManagerFlags } from "./flag-table.ts";
import { Health, probesOf } from "./health.ts";
import { readLabelDomains } from "./label-domains.ts";
import { eitherAborts, lead, leaseName } from "./lead.ts";
import { type BuildInfo, ManagerMetrics } from "./manager-metrics.ts";
import { MemoryPair } from "./memory-pair.ts";
import { type Handler, parseBindAddress, type Serving, servePaths } from "./plain-server.ts";
import { profilesOf } from "./profiles.ts";
import { LateLeadership, Standby } from "./standby.ts";
import { findCertificates, keepCertificates, manageCertificates } from "./webhook-certificates.ts";
import type { IssueServingPair } from "./webhook-pair.ts";
import { type CertificateFiles, serveWebhook } from "./webhook-server.ts";

export interface ManagerOptions {
  readonly flags: ManagerFlags;
  readonly transport: Transport;
  /** The namespace of the manager, and of its lease unless a flag sets another. */
  readonly namespace: string;
  /** Unique among the replicas. */
  readonly identity: string;
  readonly log: Logger;
  readonly build: BuildInfo;
  readonly issue: IssueServingPair;
  /** The directory of the mounted settings. Default `/etc/sandbox-config`. */
  readonly configFolder?: string;
  readonly tracing?: Tracing;
  /** Called with the ports when the manager serves them. */
  readonly onServing?: (ports: ServingPorts) => void;
}

export interface ServingPorts {
  readonly metrics: number | undefined;
  readonly health: number | undefined;
  readonly webhook: number | undefined;
}

/**
 * Runs the manager until `signal` aborts. Then reconciles end, events are written and the lease is released. Throws if it
 * cannot start or loses the lease; then the process must exit, so that no work continues.
 */
export async function runManager(options: ManagerOptions, signal: AbortSignal): Promise<void> {
  const { flags, log } = options;
  if (flags["enable-tracing"] && options.tracing === undefined) {
    throw new Error("Cannot trace: OTEL_EXPORTER_OTLP_ENDPOINT is not set");
  }
  const labelDomains = flags.extensions
    ? await readLabelDomains(`${options.configFolder ?? "/etc/sandbox-config"}/allowed-label-domains`)
    : undefined;
  const metrics = new ManagerMetrics(options.build);
  const health = new Health(() => systemScheduler.now());
  const transport = metrics.counting(health.watching(options.transport));
  await using servers = await openServers(options, { metrics, health, transport });
  options.onServing?.(servers);
  const settings = controllersFromFlags(flags, labelDomains);
  const leadership = new LateLeadership();
  const client = clientOf(flags, whileLeading(transport, leadership));
  const manager = { options, metrics, health, transport, settings, leadership, client };
  signal.addEventListener("abort", () => (health.phase = "stopping"), { once: true });
  health.phase = "waiting";
  if (flags["leader-elect"]) await leadWith(manager, signal);
  else {
    leadership.begin({ assertLeading: () => undefined });
    await using _controllers = startSets(manager, []);
    await eitherAborts(signal);
  }
  log.info({}, "manager stopped");
}

function clientOf(flags: ManagerFlags, transport: Transport): Client {
  const [qps, burst] = [flags["kube-api-qps"], flags["kube-api-burst"]];
  return createClient(transport, { fieldManager: "agent-sandbox", ...(qps > 0 && { rateLimit: { qps, burst } }) });
}

interface Manager {
  readonly options: ManagerOptions;
  readonly metrics: ManagerMetrics;
  readonly health: Health;
  readonly transport: Transport;
  readonly settings: ReturnType<typeof controllersFromFlags>;
  /** What `client` needs for writes. */
  readonly leadership: LateLeadership;
  readonly client: Client;
}

async function leadWith(manager: Manager, signal: AbortSignal): Promise<void> {
  const { options, metrics, health, transport, settings, client } = manager;
  const { flags, identity, log } = options;
  metrics.setLeading(leaseName, false);
  const scopes = scopesOf(flags).map((scope) => ({ ...settings, ...scope }));
  await using standby = new Standby({ client, log, scopes });
  await lead(
    {
      client: createClient(transport),
      namespace: flags["leader-election-namespace"] || options.namespace,
      identity,
      log,
      onWaiting: (leaderIsSilent) => standby.observe(leaderIsSilent),
      work: (leadership) => {
        manager.leadership.begin(leadership);
        return startSets(manager, standby.take());
      },
      onChange: (state) => {
        metrics.setLeading(leaseName, state === "leading");
        if (state === "lost") health.leadershipLost();
      },
    },
    signal,
  );
}

function scopesOf({ "watch-namespaces": watched }: ManagerFlags): { readonly namespace?: string }[] {
  return watched.length === 0 ? [{}] : watched.map((namespace) => ({ namespace }));
}

/**
 * Starts one set of controllers for each watched namespace: none needs access to another namespace. `filled` has the caches of each, or
 * is empty.
 */
function startSets(manager: Manager, filled: readonly Informers[]): AsyncDisposable {
  const { options, metrics, health, settings, client } = manager;
  const { flags, log, identity, tracing } = options;
  const sets = scopesOf(flags).map((scope, index) =>
    startControllers({
      ...settings,
      ...scope,
      client,
      ...(filled[index] && { informers: filled[index] }),
      log,
      instance: identity,
      metrics: metrics.forControllers(),
      ...(tracing && { tracing }),
    }),
  );
  metrics.countSandboxes(() => sets.flatMap((set) => set.sandboxes.list()));
  health.phase = "syncing";
  const synced = async (): Promise<void> => {
    await Promise.all(sets.map((set) => set.ready));
    if (health.phase === "syncing") health.phase = "working";
    log.info({ namespaces: flags["watch-namespaces"], extensions: flags.extensions }, "controllers started");
  };
  // Stopping before the caches are synced is not an error.
  synced().catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(sets.map((set) => set[Symbol.asyncDispose]()));
      metrics.countSandboxes(() => []);
    },
  };
}

type Servers = ServingPorts & AsyncDisposable;

async function openServers(
  { flags, log, issue }: ManagerOptions,
  { metrics, health, transport }: Pick<Manager, "metrics" | "health" | "transport">,
): Promise<Servers> {
  await using opening = new AsyncDisposableStack();
  const open = async (
    flag: "metrics-bind-address" | "health-probe-bind-address",
    paths: ReadonlyMap<string, Handler>,
  ) => {
    const address = parseBindAddress(flags[flag]);
    if (address === undefined) return undefined;
    if ("error" in address) throw new Error(address.error);
    return opening.use(await servePaths(address, paths));
  };
  const probes = await open("health-probe-bind-address", probesOf(health));
  const profiles =
    flags["enable-pprof"] || flags["enable-pprof-debug"] ? profilesOf(flags["enable-pprof-debug"]) : new Map();
  const scrapes = await open("metrics-bind-address", new Map([["/metrics", scrapeOf(metrics)], ...profiles]));
  let webhook: Serving | undefined;
  if (flags["enable-webhook"]) {
    const memory = new MemoryPair();
    const manage = (): Promise<CertificateFiles> =>
      manageCertificates(createClient(transport), flags, { issue, nowMs: Date.now(), memory });
    const files = await (flags["manage-webhook-certs"] ? manage() : findCertificates(flags));
    if (flags["manage-webhook-certs"]) opening.use(keepCertificates(manage, { log }));
    webhook = opening.use(await serveWebhook({ address: { port: flags["webhook-port"] }, files, log }));
  }
  const owned = opening.move();
  return {
    metrics: scrapes?.port,
    health: probes?.port,
    webhook: webhook?.port,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function scrapeOf({ registry }: ManagerMetrics): Handler {
  return async (_request, response) => {
    const text = await registry.metrics();
    response.writeHead(200, { "content-type": registry.contentType }).end(text);
  };
}
