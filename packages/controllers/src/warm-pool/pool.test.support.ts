import type { Sandbox } from "@agent-sandbox/api";
import { deferStatus, type Index } from "@agent-sandbox/kube";
import { poolOf, templateOf } from "../extensions.test.support.ts";
import { blueprintOf } from "../template/blueprint.ts";
import { type Decision, decide, type PoolMemory } from "./decide.ts";
import { facetsOf, membersOf } from "./members.ts";
import type { Observed } from "./observe.ts";
import { defaultPoolSettings, type PoolSettings } from "./settings.ts";

/** The index of a cache that contains these Sandboxes. */
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
  readonly memory?: PoolMemory;
  readonly failure?: string;
}

export function look(scene: Scene = {}): Observed {
  const { pool = poolOf(), template = templateOf(), sandboxes = [], settings = {}, failure } = scene;
  return {
    pool,
    blueprint: template === null ? undefined : blueprintOf(template),
    members: membersOf(indexOf(sandboxes), pool),
    settings: { ...defaultPoolSettings, ...settings },
    ...(failure === undefined ? {} : { problem: failure }),
  };
}

/** The decision as the engine carries it out at this time: a status that is not due yet is left out. */
export function judge(scene: Scene, now: number): Decision {
  const decision = decide(look(scene), scene.memory ?? {}, now);
  return { ...decision, ...deferStatus(decision, now) };
}
