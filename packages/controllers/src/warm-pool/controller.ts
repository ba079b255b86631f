import {
  nameHash,
  type Sandbox,
  type SandboxWarmPool,
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
  OwnWrites,
  objectKey,
  type RunnerMetrics,
  systemScheduler,
  watching,
} from "@agent-sandbox/kube";
import { changesSpec } from "../changes-spec.ts";
import type { ControllerContext } from "../controller-context.ts";

import { reconcilePool } from "./apply.ts";
import { facetsOf, indexMembers } from "./members.ts";
import { defaultPoolSettings, observe, type PoolMemory, type PoolSettings } from "./observe.ts";
import { indexByTemplate } from "./pools-by-template.ts";
import { mostAtOnce } from "./slow-start.ts";

export interface WarmPoolControllerOptions extends ControllerContext {
  /** Pools worked on at the same time. Default 4. */
  readonly workers?: number;
  /** Default: `defaultPoolSettings`. */
  readonly settings?: Partial<PoolSettings>;
  /** Only the pools of this namespace. Default: all. */
  readonly namespace?: string;
  /** Told what people should know. Default: nobody is told. */
  readonly events?: Pick<EventRecorder, "record">;
  readonly metrics?: RunnerMetrics;
}

/** Keeps as many unclaimed Sandboxes as each pool says, made from its template. */
export function startWarmPoolController(options: WarmPoolControllerOptions): Controller {
  const { informers, fence, log, scheduler = systemScheduler, metrics, events, workers = 4 } = options;
  const settings = { ...defaultPoolSettings, ...options.settings };
  const scope = options.namespace === undefined ? {} : { namespace: options.namespace };
  const pools = informers.get(sandboxWarmPools, scope);
  const templates = informers.get(sandboxTemplates, scope);
  const sandboxCache = informers.get(sandboxes, scope);
  const index = indexMembers(sandboxCache);
  const byTemplate = indexByTemplate(pools);
  const byNameHash = pools.index("name-hash", nameHashKeysOf);
  const ownWrites = new OwnWrites();
  const memories = new Map<string, { readonly uid: string; readonly memory: PoolMemory }>();

  const poolsOf = (sandbox: Sandbox): string[] => {
    const owner = controllerKey(sandbox, sandboxWarmPools);
    if (owner !== undefined) return [owner];
    const label = sandbox.metadata.labels?.[warmPoolSandboxLabel];
    if (label === undefined || controllerOf(sandbox) !== undefined) return [];
    return byNameHash.get(`${sandbox.metadata.namespace} ${label}`).map(objectKey);
  };

  return Controller.start({
    name: "warmpool",
    client: informers.client,
    fence,
    workers,
    ...(options.rightOfWay && { givesWay: options.rightOfWay }),
    scheduler,
    primary: pools,
    when: ({ new: pool }) => !ownWrites.takes(pool),
    triggers: [
      watching(sandboxCache, poolsOf, { when: (delta) => !ownWrites.takes(delta.new) && movesMember(delta) }),
      watching(templates, (template) => byTemplate.get(objectKey(template)).map(objectKey), { when: changesSpec }),
    ],
    ...(log && { log }),
    ...(metrics && { metrics }),
    reconcile: async (key, { client, signal }) => {
      const pool = pools.get(key);
      if (pool === undefined) return void memories.delete(key);
      const { uid = "" } = pool.metadata;
      const kept = memories.get(key);
      const memory = kept?.uid === uid ? kept.memory : {};
      const pass = await reconcilePool(
        {
          client,
          signal,
          ownWrites,
          atOnce: () => options.rightOfWay?.limit(mostAtOnce) ?? mostAtOnce,
          now: () => scheduler.date(),
          tell: (note) => events?.record(sandboxWarmPools, pool, note),
        },
        observe(pool, { templates, members: index }, { settings, memory }),
      );
      memories.set(key, { uid, memory: pass.memory });
      if (pass.error !== undefined) throw pass.error;
      return pass.wakeAt === undefined ? undefined : { requeueAfterMs: Math.max(0, pass.wakeAt - scheduler.date()) };
    },
  });
}

function nameHashKeysOf({ metadata }: SandboxWarmPool): string[] {
  return [`${metadata.namespace} ${nameHash(metadata.name ?? "")}`];
}

/** Whether the change is one that a pool counts. Most changes of a Sandbox are not. */
function movesMember(delta: Delta<Sandbox>): boolean {
  const [before, after] = [delta.old, delta.new].map((sandbox) => (sandbox ? facetsOf(sandbox) : []));
  return before?.join() !== after?.join();
}
