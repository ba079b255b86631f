import { sandboxes, sandboxNameHashLabel } from "@agent-sandbox/api";
import {
  Controller,
  controllerKey,
  type EventRecorder,
  type KubeObject,
  OwnWrites,
  objectKey,
  type RunnerMetrics,
  type Scope,
  silentLogger,
  systemScheduler,
  type Trigger,
  watching,
} from "@agent-sandbox/kube";
import { changesSpec } from "../changes-spec.ts";
import type { ControllerContext } from "../controller-context.ts";

import type { Tracing } from "../pass-trace.ts";
import { type Ports, reconcileSandbox } from "./apply.ts";
import { type Caches, observe, observeWritten, openCaches, twinsOf } from "./observe.ts";
import { defaultSettings, type Settings } from "./settings.ts";
import { tracePass } from "./trace-pass.ts";
import { StateWatch } from "./watched.ts";

export interface SandboxControllerOptions extends ControllerContext, Partial<Settings> {
  /** Told what people should know. Default: nobody is told. */
  readonly events?: EventRecorder;
  readonly metrics?: RunnerMetrics;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing;
  /** Sandboxes worked on at the same time. Default 8. */
  readonly workers?: number;
  /** Only the Sandboxes of this namespace. Default: all. */
  readonly namespace?: string;
  /** Caches only Pods and Services that carry a Sandbox's hash. Adoption then needs that label. Default false. */
  readonly onlyLabelledChildren?: boolean;
  /**
   * Milliseconds since the epoch. Default: the machine's clock. It says when to look whether a Sandbox has expired; whether
   * it has is held against the API server's clock.
   */
  readonly now?: () => number;
}

/** Keeps each Sandbox's Pod, volumes, Service and status as its spec says. */
export function startSandboxController(options: SandboxControllerOptions): Controller {
  const { informers, fence, events, log = silentLogger, scheduler = systemScheduler } = options;
  const { workers = 8, now = () => scheduler.date() } = options;
  const settings = settingsOf(options);
  const caches = openCaches(informers, ...scopesOf(options));
  const watch = new StateWatch(() => scheduler.now());
  const ownWrites = new OwnWrites();
  const remember: Ports["remember"] = (answer) => ownWrites.remember(answer);
  const onWritten: Ports["onWritten"] = (after) => observeWritten(after, { settings, watch });
  const tell: Ports["tell"] = (sandbox, note) => events?.record(sandboxes, sandbox, note);
  return Controller.start({
    name: "sandbox",
    client: informers.client,
    fence,
    workers,
    ...(options.rightOfWay && { givesWay: options.rightOfWay }),
    primary: caches.sandboxes,
    when: ({ new: sandbox }) => !ownWrites.takes(sandbox),
    triggers: triggersOf(caches, ownWrites),
    log,
    scheduler,
    ...(options.metrics && { metrics: options.metrics }),
    reconcile: async (key, { client }) => {
      const seen = observe(caches, key, { settings, watch });
      if (seen === undefined) return undefined;
      return tracePass({ tracing: options.tracing, client, log }, seen, (joined, trace) =>
        reconcileSandbox({ client, remember, settings, now, log, tell, trace, onWritten }, joined),
      );
    },
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
 * A child wakes the Sandbox that controls it, and one that wants its name: a stranger in the way may give way. What a pass
 * wrote and took into account itself wakes nobody.
 */
function triggersOf(caches: Caches, ownWrites: OwnWrites): Trigger[] {
  const when = ({ new: object }: { readonly new: KubeObject | undefined }): boolean => !ownWrites.takes(object);
  const keysOf = (found: readonly KubeObject[], child: KubeObject): string[] => {
    const owner = controllerKey(child, sandboxes);
    return [...found.map(objectKey), ...(owner === undefined ? [] : [owner])];
  };
  const namesake = (key: string): KubeObject[] => {
    const sandbox = caches.sandboxes.get(key);
    return sandbox === undefined ? [] : [sandbox];
  };
  return [
    // Whoever shares the hash of its name may do now what it might not, or may not what it might.
    watching(caches.sandboxes, (sandbox) => twinsOf(caches, sandbox).map(objectKey), { when: changesSpec }),
    watching(caches.pods, (pod) => keysOf(caches.sandboxesByPod.get(objectKey(pod)), pod), { when }),
    watching(caches.services, (service) => keysOf(namesake(objectKey(service)), service), { when }),
    watching(caches.volumeClaims, (claim) => keysOf(caches.sandboxesByVolumeClaim.get(objectKey(claim)), claim), {
      when,
    }),
  ];
}
