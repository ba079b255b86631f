import { type Sandbox, type SandboxStatus, sandboxes, sandboxNameHashLabel } from "@agent-sandbox/api";
import {
  Controller,
  controllerKey,
  type EventRecorder,
  type KubeObject,
  objectKey,
  type Pass,
  type RunnerMetrics,
  reconciler,
  type Scope,
  silentLogger,
  systemScheduler,
  type Trigger,
  watching,
} from "@agent-sandbox/kube";
import { changesSpec } from "../changes-spec.ts";
import type { ControllerContext } from "../controller-context.ts";

import type { Tracing } from "../pass-trace.ts";
import { clockAheadMs, decideByServerClock } from "../server-clock.ts";
import { writeStatus } from "../write-status.ts";
import { type Action, describeAction, stepOf } from "./action.ts";
import { decide } from "./decide.ts";
import { seemsExpired } from "./expiry.ts";
import { type Caches, observe, openCaches, twinsOf } from "./observe.ts";
import type { Snapshot } from "./observed.ts";
import { failed, perform } from "./perform.ts";
import { defaultSettings, type Settings } from "./settings.ts";
import { SnapshotCache } from "./snapshot-cache.ts";
import { seemsDue } from "./suspend-at.ts";
import { tracePass } from "./trace-pass.ts";
import type { Since } from "./watched.ts";

export interface SandboxControllerOptions extends ControllerContext, Partial<Settings> {
  /** Default: no events are recorded. */
  readonly events?: EventRecorder;
  readonly metrics?: RunnerMetrics;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing;
  /** Sandboxes reconciled at the same time. Default 8. */
  readonly workers?: number;
  /** Only the Sandboxes of this namespace. Default: all. */
  readonly namespace?: string;
  /** Caches only Pods and Services that have the label with a Sandbox's hash. Adoption then needs that label. Default false. */
  readonly onlyLabelledChildren?: boolean;
  /** Whether suspended Sandboxes resume from their Pod snapshots. Default false. */
  readonly podSnapshots?: boolean;
  /**
   * Milliseconds since the epoch. Default: the scheduler's date. It says when to check whether a Sandbox has expired; the check
   * itself uses the API server's clock.
   */
  readonly now?: () => number;
}

/** Keeps the Pod, volume claims, Service and status of each Sandbox in line with its spec. */
export function startSandboxController(options: SandboxControllerOptions): Controller {
  const { informers, fence, events, log = silentLogger, scheduler = systemScheduler } = options;
  const { workers = 8, now = () => scheduler.date() } = options;
  const settings = settingsOf(options);
  const caches = openCaches(informers, ...scopesOf(options));
  const snapshots = new SnapshotCache(informers, {
    ...scopesOf(options)[0],
    podSnapshots: options.podSnapshots === true,
  });

  const observeSandbox = async (key: string, { client, log }: Pass): Promise<Snapshot | undefined> => {
    const sandbox = caches.sandboxes.get(key);
    if (sandbox === undefined) return undefined;
    const isTimeUp = seemsExpired(sandbox, now()) || seemsDue(sandbox, now());
    const aheadMs = isTimeUp ? await clockAheadMs({ client, log, now }, sandbox) : 0;
    const snapshot = await snapshots.find(sandbox, client);
    return observe(sandbox, caches, { settings, snapshot, uptimeMs: scheduler.now(), clockAheadMs: aheadMs });
  };

  return Controller.start({
    name: "sandbox",
    client: informers.client,
    fence,
    workers,
    ...(options.priority && { yieldsTo: options.priority }),
    primary: caches.sandboxes,
    triggers: [...triggersOf(caches), snapshots.trigger(caches.sandboxes)],
    log,
    scheduler,
    ...(options.metrics && { metrics: options.metrics }),
    reconcile: reconciler<Sandbox, Snapshot, Action, SandboxStatus, Since>({
      primary: caches.sandboxes,
      initialMemory: () => ({}),
      observe: observeSandbox,
      decide: decideByServerClock(decide),
      perform: async (action, observed, pass) => {
        const after = await perform(action, observed, pass);
        // States that begin with this write are counted from now on.
        return after && { ...after, uptimeMs: scheduler.now() };
      },
      failed,
      groupOf: stepOf,
      writeStatus: (status, { sandbox }, pass) => writeStatus(sandboxes, sandbox, status, pass),
      recordEvent: ({ sandbox }, event) => events?.record(sandboxes, sandbox, event),
      trace: (observed, pass) => tracePass(observed, pass, options.tracing),
      describe: describeAction,
      scheduler,
      now,
    }),
  });
}

function settingsOf(options: SandboxControllerOptions): Settings {
  const { clusterDomain, keepRootFilesystem, runtime, writeBehindMs } = { ...defaultSettings, ...options };
  return { clusterDomain, keepRootFilesystem, runtime, writeBehindMs };
}

function scopesOf(options: SandboxControllerOptions): [all: Pick<Scope, "namespace">, children: Scope] {
  const { namespace, onlyLabelledChildren = false } = options;
  const scope = namespace === undefined ? {} : { namespace };
  return [scope, onlyLabelledChildren ? { ...scope, labelSelector: sandboxNameHashLabel } : scope];
}

/**
 * A child enqueues the Sandbox that controls it, and a Sandbox that wants its name: an object of another owner with that name
 * may be gone now.
 */
function triggersOf(caches: Caches): Trigger[] {
  const skipOwnWrites = { skipOwnWrites: true };
  const keysOf = (found: readonly KubeObject[], child: KubeObject): string[] => {
    const owner = controllerKey(child, sandboxes);
    return [...found.map(objectKey), ...(owner === undefined ? [] : [owner])];
  };
  const namesake = (key: string): KubeObject[] => {
    const sandbox = caches.sandboxes.get(key);
    return sandbox === undefined ? [] : [sandbox];
  };
  return [
    // What a Sandbox may create depends on the others whose names have the same hash.
    watching(caches.sandboxes, (sandbox) => twinsOf(caches, sandbox).map(objectKey), { when: changesSpec }),
    watching(caches.pods, (pod) => keysOf(caches.sandboxesByPod.get(objectKey(pod)), pod), skipOwnWrites),
    watching(caches.services, (service) => keysOf(namesake(objectKey(service)), service), skipOwnWrites),
    watching(
      caches.volumeClaims,
      (claim) => keysOf(caches.sandboxesByVolumeClaim.get(objectKey(claim)), claim),
      skipOwnWrites,
    ),
  ];
}
