import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import {
  type Client,
  ControllerPriority,
  EventRecorder,
  Fence,
  type Informer,
  Informers,
  type Logger,
  type RunnerMetrics,
} from "@agent-sandbox/kube";
import { type ClaimControllerOptions, startClaimController } from "./claim/controller.ts";
import type { ClaimMetrics } from "./claim/metrics.ts";
import type { Tracing } from "./pass-trace.ts";
import { startPodSnapshotControllers } from "./pod-snapshot/controller.ts";
import { startSandboxController } from "./sandbox/controller.ts";
import type { Settings } from "./sandbox/settings.ts";
import { startTemplateController } from "./template/controller.ts";
import type { RouterPlace } from "./template/desired-policy.ts";
import { startWarmPoolController } from "./warm-pool/controller.ts";
import type { PoolSettings } from "./warm-pool/settings.ts";

/** The names of the controllers in logs, metrics and events. */
export type ControllerName = "sandbox" | "sandboxclaim" | "sandboxwarmpool" | "sandboxtemplate";

export interface ControllersOptions {
  readonly client: Client;
  /** Of the same client. Caches in it that `fillCaches` opened are used. Closed with the controllers. Default: new ones. */
  readonly informers?: Informers;
  readonly log: Logger;
  /** Identifies this process in events. */
  readonly instance: string;
  readonly settings?: Partial<Settings>;
  /** Only objects of this namespace. Default: all namespaces. */
  readonly namespace?: string;
  /** Whether claims, pools and templates are reconciled besides Sandboxes. Default true. */
  readonly extensions?: boolean;
  /** Whether Pod snapshots are served as well, for installations where nobody else serves these kinds. Default false. */
  readonly podSnapshots?: boolean;
  /** Objects reconciled at the same time. Default: the default of each controller. */
  readonly workers?: Partial<Record<ControllerName, number>>;
  readonly pools?: Partial<PoolSettings>;
  readonly claims?: Pick<ClaimControllerOptions, "labelDomains" | "stampClaims">;
  /** Whether events are recorded for claims. Default true. */
  readonly claimEvents?: boolean;
  /** Caches only Pods and Services that have the label with a Sandbox's hash. Adoption then needs that label. Default false. */
  readonly onlyLabelledChildren?: boolean;
  /** Which Pods may connect to Sandboxes by default. Default: the template controller's default. */
  readonly router?: RouterPlace;
  readonly metrics?: ControllersMetrics;
  readonly tracing?: Tracing;
}

export type ControllersMetrics = Readonly<Partial<Record<ControllerName, RunnerMetrics>>> & {
  readonly sandboxclaim?: ClaimMetrics;
};

export interface RunningControllers extends AsyncDisposable {
  /** Settles when the caches of all controllers have synced. */
  readonly ready: Promise<void>;
  readonly sandboxes: Informer<Sandbox>;
}

/**
 * For how long Pods, pools and templates wait for claims that can be served at once. A burst of some dozen claims takes less. The
 * replacements of the members that it takes would compete with it, most of all where their Pods start on the same machine.
 */
const claimsFirstMs = 300;

/** Starts the four controllers on one set of caches and one fence. */
export function startControllers(options: ControllersOptions): RunningControllers {
  const { client, log } = options;
  const owned = new AsyncDisposableStack();
  const informers = owned.use(options.informers ?? new Informers({ client, log }));
  const fence = owned.use(new Fence({ informers }));
  const recorders: EventRecorder[] = [];
  owned.defer(() => stopTogether(recorders));
  const recorder = (name: ControllerName): EventRecorder => {
    const made = new EventRecorder({ client, log, controller: `${name}-controller`, instance: options.instance });
    recorders.push(made);
    return made;
  };
  const scope = options.namespace === undefined ? {} : { namespace: options.namespace };
  const traced = options.tracing && { tracing: options.tracing };
  const shared = { informers, fence, log, priority: new ControllerPriority({ holdMs: claimsFirstMs }), ...scope };
  const own = (name: ControllerName): { workers?: number; metrics?: RunnerMetrics } => {
    const [workers, metrics] = [options.workers?.[name], options.metrics?.[name]];
    return { ...(workers !== undefined && { workers }), ...(metrics && { metrics }) };
  };

  const controllers = [
    startSandboxController({
      ...shared,
      ...traced,
      ...own("sandbox"),
      ...options.settings,
      events: recorder("sandbox"),
      ...(options.onlyLabelledChildren === true && { onlyLabelledChildren: true }),
      ...(options.podSnapshots === true && { podSnapshots: true }),
    }),
  ];
  if (options.extensions !== false) {
    const poolSettings = options.pools && { settings: options.pools };
    const told = options.claimEvents !== false && { events: recorder("sandboxclaim") };
    controllers.push(
      startTemplateController({
        ...shared,
        ...traced,
        ...own("sandboxtemplate"),
        ...(options.router && { router: options.router }),
      }),
      startWarmPoolController({
        ...shared,
        ...own("sandboxwarmpool"),
        ...poolSettings,
        events: recorder("sandboxwarmpool"),
      }),
      startClaimController({ ...shared, ...traced, ...own("sandboxclaim"), ...options.claims, ...told }),
    );
  }
  if (options.podSnapshots === true) controllers.push(...startPodSnapshotControllers(shared));
  owned.defer(() => stopTogether(controllers));
  const ready = Promise.all(controllers.map((controller) => controller.ready)).then(() => undefined);
  ready.catch(() => undefined);
  return { ready, sandboxes: informers.get(sandboxes, scope), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** In parallel: the stop takes as long as the slowest, not the sum. */
async function stopTogether(parts: readonly AsyncDisposable[]): Promise<void> {
  await Promise.all(parts.map((part) => part[Symbol.asyncDispose]()));
}
