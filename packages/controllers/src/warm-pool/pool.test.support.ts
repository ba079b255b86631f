import type { Sandbox } from "@agent-sandbox/api";
import { deferStatus, type Index } from "@agent-sandbox/kube";
import { epoch, memberNamed, poolOf, startingStatus, templateOf } from "../extensions.test.support.ts";
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
export function judge(scene: Scene, now: number = epoch): Decision {
  const decision = decide(look(scene), scene.memory ?? {}, now);
  return { ...decision, ...deferStatus(decision, now) };
}

const names = (sandboxes: readonly Sandbox[]): (string | undefined)[] => sandboxes.map(({ metadata }) => metadata.name);

/** The actions in short form: `+2` creates two members, `-a` deletes member a. */
export function moves({ actions }: Decision): string[] {
  return actions.flatMap((action) => {
    if (action.do === "create") return [`+${action.count}`];
    if (action.do === "adopt") return names(action.orphans).map((name) => `adopt ${name}`);
    return names(action.members).map((name) => `${action.do === "delete" ? "-" : "mark "}${name}`);
  });
}

export const unready = (name: string, over: Parameters<typeof memberNamed>[1] = {}): Sandbox =>
  memberNamed(name, { status: startingStatus, ...over });
