import type { Sandbox } from "@agent-sandbox/api";
import type { Index } from "@agent-sandbox/kube";
import { poolOf, templateOf } from "../extensions.test.support.ts";
import { blueprintOf } from "../template/blueprint.ts";
import { facetsOf, membersOf } from "./members.ts";
import { defaultPoolSettings, type Observed, type PoolSettings } from "./observe.ts";

/** The index that a cache holding just these Sandboxes would have. */
export function indexOf(sandboxes: readonly Sandbox[]): Index<Sandbox> {
  const get = (value: string): readonly Sandbox[] => sandboxes.filter((sandbox) => facetsOf(sandbox).includes(value));
  return { get, count: (value) => get(value).length };
}

export interface Scene {
  readonly pool?: Observed["pool"];
  /** Null: it does not exist. */
  readonly template?: Parameters<typeof blueprintOf>[0] | null;
  readonly sandboxes?: readonly Sandbox[];
  readonly settings?: Partial<PoolSettings>;
  readonly memory?: Observed["memory"];
  readonly failure?: string;
}

export function look(scene: Scene = {}): Observed {
  const { pool = poolOf(), template = templateOf(), sandboxes = [], settings = {}, memory = {}, failure } = scene;
  return {
    pool,
    blueprint: template === null ? undefined : blueprintOf(template),
    members: membersOf(indexOf(sandboxes), pool),
    settings: { ...defaultPoolSettings, ...settings },
    memory,
    ...(failure === undefined ? {} : { failure }),
  };
}
