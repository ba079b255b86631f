import type { Sandbox, SandboxTemplate, SandboxWarmPool } from "@agent-sandbox/api";
import { type Index, type Informer, keyOf } from "@agent-sandbox/kube";
import { type Blueprint, understand } from "../template/blueprint.ts";
import type { TemplateSnapshots } from "../template/template-snapshots.ts";
import { type Members, membersOf } from "./members.ts";
import type { PoolSettings } from "./settings.ts";

/** What the controller knows about one pool: plain data from caches. */
export interface Observed {
  readonly pool: SandboxWarmPool;
  /** Undefined when the template does not exist or cannot be understood. */
  readonly blueprint: Blueprint | undefined;
  /** The snapshot that members are made from, if the template names one that is ready. */
  readonly snapshotUid?: string;
  readonly members: Members;
  readonly settings: PoolSettings;
  /** Why the template cannot be understood. */
  readonly problem?: string;
  /** Set when actions of this pass have failed. */
  readonly failed?: FailedActions;
}

export interface FailedActions {
  /** The first error. */
  readonly error: unknown;
  /** How many of the members that were to be created do not exist. */
  readonly uncreated: number;
}

export interface PoolCaches {
  readonly templates: Informer<SandboxTemplate>;
  readonly members: Index<Sandbox>;
  readonly snapshots: Pick<TemplateSnapshots, "uidFor">;
}

export function observe(pool: SandboxWarmPool, caches: PoolCaches, settings: PoolSettings): Observed {
  const { namespace = "" } = pool.metadata;
  const template = caches.templates.get(keyOf({ namespace, name: pool.spec?.sandboxTemplateRef?.name ?? "" }));
  const read: { blueprint?: Blueprint; problem?: string } = template === undefined ? {} : understand(template);
  const snapshotUid = caches.snapshots.uidFor(read.blueprint);
  return {
    pool,
    blueprint: read.blueprint,
    ...(snapshotUid !== undefined && { snapshotUid }),
    members: membersOf(caches.members, pool),
    settings,
    ...(read.problem !== undefined && { problem: read.problem }),
  };
}
