import {
  nameHash,
  type Sandbox,
  type SandboxTemplate,
  type SandboxWarmPool,
  type SandboxWarmPoolStatus,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import {
  Controller,
  controllerKey,
  controllerOf,
  type Delta,
  type EventRecorder,
  objectKey,
  type RunnerMetrics,
  reconciler,
  systemScheduler,
  watching,
} from "@agent-sandbox/kube";
import { changesSpec } from "../changes-spec.ts";
import type { ControllerContext } from "../controller-context.ts";
import { TemplateSnapshots } from "../template/template-snapshots.ts";
import { ignoreConflict, writeStatus } from "../write-status.ts";
import { type Action, decide, type PoolMemory } from "./decide.ts";
import { facetsOf, indexMembers } from "./members.ts";
import { type Observed, observe } from "./observe.ts";
import { perform } from "./perform.ts";
import { indexByTemplate } from "./pools-by-template.ts";
import { defaultPoolSettings, type PoolSettings } from "./settings.ts";
import { mostAtOnce } from "./slow-start.ts";

export interface WarmPoolControllerOptions extends ControllerContext {
  /** Pools reconciled at the same time. Default 4. */
  readonly workers?: number;
  /** Default: `defaultPoolSettings`. */
  readonly settings?: Partial<PoolSettings>;
  /** Only the pools of this namespace. Default: all. */
  readonly namespace?: string;
  /** Default: no events are recorded. */
  readonly events?: Pick<EventRecorder, "record">;
  readonly metrics?: RunnerMetrics;
}

/** Keeps as many unclaimed Sandboxes as each pool's size, created from its template. */
export function startWarmPoolController(options: WarmPoolControllerOptions): Controller {
  const { informers, fence, log, scheduler = systemScheduler, metrics, events, workers = 4, priority } = options;
  const settings = { ...defaultPoolSettings, ...options.settings };
  const scope = options.namespace === undefined ? {} : { namespace: options.namespace };
  const pools = informers.get(sandboxWarmPools, scope);
  const templates = informers.get(sandboxTemplates, scope);
  const sandboxCache = informers.get(sandboxes, scope);
  const snapshots = new TemplateSnapshots(informers, scope);
  const caches = { templates, members: indexMembers(sandboxCache), snapshots };
  const byTemplate = indexByTemplate(pools);
  const byNameHash = pools.index("name-hash", nameHashKeysOf);
  const atOnce = (): number => priority?.limit(mostAtOnce) ?? mostAtOnce;

  const poolsOf = (sandbox: Sandbox): string[] => {
    const owner = controllerKey(sandbox, sandboxWarmPools);
    if (owner !== undefined) return [owner];
    const label = sandbox.metadata.labels?.[warmPoolSandboxLabel];
    if (label === undefined || controllerOf(sandbox) !== undefined) return [];
    return byNameHash.get(`${sandbox.metadata.namespace} ${label}`).map(objectKey);
  };

  const usersOf = (template: SandboxTemplate): string[] => byTemplate.get(objectKey(template)).map(objectKey);

  return Controller.start({
    name: "warmpool",
    client: informers.client,
    fence,
    workers,
    ...(priority && { yieldsTo: priority }),
    scheduler,
    primary: pools,
    triggers: [
      watching(sandboxCache, poolsOf, { skipOwnWrites: true, when: movesMember }),
      watching(templates, usersOf, { when: changesSpec }),
      snapshots.trigger(templates, usersOf),
    ],
    ...(log && { log }),
    ...(metrics && { metrics }),
    reconcile: reconciler<SandboxWarmPool, Observed, Action, SandboxWarmPoolStatus, PoolMemory>({
      primary: pools,
      initialMemory: () => ({}),
      observe: (key) => {
        const pool = pools.get(key);
        return pool && observe(pool, caches, settings);
      },
      decide,
      perform: (action, observed, pass) => perform(action, observed, { pass, atOnce }),
      writeStatus: (status, { pool }, pass) => writeStatus(sandboxWarmPools, pool, status, pass).catch(ignoreConflict),
      recordEvent: ({ pool }, event) => events?.record(sandboxWarmPools, pool, event),
      scheduler,
    }),
  });
}

function nameHashKeysOf({ metadata }: SandboxWarmPool): string[] {
  return [`${metadata.namespace} ${nameHash(metadata.name ?? "")}`];
}

/** Whether a pool's counts change. Most changes of a Sandbox do not concern its pool. */
function movesMember(delta: Delta<Sandbox>): boolean {
  const [before, after] = [delta.old, delta.new].map((sandbox) => (sandbox ? facetsOf(sandbox) : []));
  return before?.join() !== after?.join();
}
