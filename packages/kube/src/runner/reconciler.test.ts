import { afterEach, describe, expect, test } from "vitest";
import { Fence } from "../cache/fence.ts";
import { Informers } from "../cache/informers.ts";
import { createClient } from "../client/create-client.ts";
import type { Client } from "../client.ts";
import { KubeError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { MemoryApiServer, VirtualClock } from "../testing/index.ts";
import { Controller } from "./controller.ts";
import { type Decision, type ReconcilerOptions, reconciler } from "./reconciler.ts";
import { TerminalError } from "./terminal-error.ts";

interface Lamp extends KubeObject {
  readonly spec?: { readonly level: number };
  readonly status?: { readonly level?: number; readonly problem?: string };
}

const lamps: Resource<Lamp> = { apiVersion: "example.com/v1", kind: "Lamp", plural: "lamps", namespaced: true };
const place = { namespace: "a", name: "one" };

interface Observed {
  readonly lamp: Lamp;
  readonly level: number;
  readonly problem?: string;
}
type Action = { readonly do: "raise" } | { readonly do: "polish" };
interface Memory {
  readonly decisions: number;
}
type Options = ReconcilerOptions<Lamp, Observed, Action, NonNullable<Lamp["status"]>, Memory>;

interface World {
  readonly clock: VirtualClock;
  readonly server: MemoryApiServer;
  readonly client: Client;
  readonly logged: object[];
  readonly calls: string[];
  readonly events: string[];
  /** What `perform` changes. */
  level: number;
}

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

/** A controller that raises a lamp step by step to the level of its spec, with parts replaced. */
function start(over: (world: World) => Partial<Options> = () => ({})): World {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [{ ...lamps, status: true }], scheduler: clock });
  const client = createClient(server, { clock, random: () => 0 });
  const informers = new Informers({ client, scheduler: clock, follow: { random: () => 0 } });
  const primary = informers.get(lamps);
  const logged: object[] = [];
  const write = (fields: object, message: string): void => void logged.push({ message, ...fields });
  const log: Logger = { debug: () => undefined, info: write, warn: write, error: write };
  const world: World = { clock, server, client, logged, calls: [], events: [], level: 0 };
  const reconcile = reconciler<Lamp, Observed, Action, NonNullable<Lamp["status"]>, Memory>({
    primary,
    scheduler: clock,
    initialMemory: () => ({ decisions: 0 }),
    observe: (key) => {
      const lamp = primary.get(key);
      return lamp && { lamp, level: world.level };
    },
    decide: ({ lamp, level, problem }, memory) => ({
      actions: level < (lamp.spec?.level ?? 0) ? [{ do: "raise" }] : [],
      memory: { decisions: memory.decisions + 1 },
      status: { level, ...(problem && { problem }) },
    }),
    perform: (action, observed) => {
      world.calls.push(action.do);
      world.level += 1;
      return Promise.resolve({ ...observed, level: world.level });
    },
    writeStatus: async (status, { lamp }, pass) => {
      world.calls.push(`status ${JSON.stringify(status)}`);
      const { uid = "", resourceVersion = "" } = lamp.metadata ?? {};
      const patch = { type: "merge", body: { status }, preconditions: { uid, resourceVersion } } as const;
      return pass.ownWrite(await pass.client.patch(lamps, place, patch, { subresource: "status" }));
    },
    recordEvent: (_, { text }) => void world.events.push(text),
    ...over(world),
  });
  const fence = new Fence({ informers, scheduler: clock });
  opened.push(informers, Controller.start({ name: "lamp", client, fence, scheduler: clock, primary, reconcile, log }));
  return world;
}

async function createLamp(world: World, level: number): Promise<void> {
  await world.clock.advance(0);
  await world.client.create(lamps, { metadata: place, spec: { level } });
  await world.clock.advance(0);
}

const event = (text: string) => ({ type: "Normal", reason: "Seen", action: "Looking", text }) as const;
const decision = (over: Partial<Decision<Action, NonNullable<Lamp["status"]>, Memory>> = {}) => ({
  actions: [],
  memory: { decisions: 0 },
  ...over,
});

describe("reconciler()", () => {
  test("acts until nothing is left to do, then writes the status once, which causes no further pass", async () => {
    const world = start();
    await createLamp(world, 3);
    await world.clock.advance(60_000);
    expect(world.calls).toEqual(["raise", "raise", "raise", 'status {"level":3}']);
  });

  test("fails with a clear error when an object does not settle, after it has written the status", async () => {
    const world = start();
    await createLamp(world, 7);
    expect(world.calls.slice(0, 5)).toEqual(["raise", "raise", "raise", "raise", 'status {"level":4}']);
    const err = new Error('Cannot settle "a/one": after 4 rounds it still needs [{"do":"raise"}]');
    expect(world.logged).toEqual([{ message: "reconcile failed", controller: "lamp", key: "a/one", pass: 1, err }]);
    await world.clock.advance(1_000);
    expect(world.calls.slice(5)).toEqual(["raise", "raise", "raise", 'status {"level":7}']);
  });

  test("keeps the decision when an action returns what was observed, because only the caches can show its effect", async () => {
    const world = start((world) => ({
      perform: ({ do: name }, observed) => {
        world.calls.push(name);
        return Promise.resolve(observed);
      },
    }));
    await createLamp(world, 2);
    await world.clock.advance(60_000);
    expect(world.calls).toEqual(["raise", 'status {"level":0}']);
  });

  test("requeues instead of repeating the same actions, when their effect is still to come", async () => {
    const world = start((world) => ({
      repeatAfterMs: 1_000,
      perform: ({ do: name }, observed) => {
        world.calls.push(`${name} at ${world.clock.now()}`);
        return Promise.resolve({ ...observed });
      },
    }));
    await createLamp(world, 1);
    await world.clock.advance(1_500);
    expect(world.calls).toEqual(["raise at 0", "raise at 1000"]);
  });

  test("ends the pass without a status when the server contradicts the caches, and still records events", async () => {
    const world = start((world) => ({
      decide: (_, memory) => decision({ actions: [{ do: "raise" }], memory, status: {}, events: [event("gone")] }),
      perform: ({ do: name }) => {
        world.calls.push(name);
        return Promise.resolve(undefined);
      },
    }));
    await createLamp(world, 1);
    expect([world.calls, world.events]).toEqual([["raise"], ["gone"]]);
  });

  test("remembers a value per UID: from the first sight of an object until it is deleted or replaced", async () => {
    const memories: number[] = [];
    const world = start(() => ({
      initialMemory: (lamp) => ({ decisions: lamp?.spec?.level ?? 0 }),
      decide: (_, memory) => {
        memories.push(memory.decisions);
        return decision({ memory: { decisions: memory.decisions + 1 } });
      },
    }));
    await createLamp(world, 10);
    const touch = { type: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
    await world.client.patch(lamps, place, touch);
    await world.clock.advance(0);
    await world.client.delete(lamps, place);
    await world.clock.advance(0);
    await createLamp(world, 20);
    expect(memories).toEqual([10, 11, 20]);
  });

  test("keeps the memory of a pass that fails", async () => {
    const memories: number[] = [];
    const world = start(() => ({
      decide: (_, memory) => {
        memories.push(memory.decisions);
        const error = memory.decisions === 0 ? { error: new Error("once") } : {};
        return decision({ memory: { decisions: memory.decisions + 1 }, ...error });
      },
    }));
    await createLamp(world, 1);
    await world.clock.advance(1_000);
    expect(memories).toEqual([0, 1]);
  });

  test("writes a deferred status when it is due, unless a later pass has nothing to report", async () => {
    const world = start(({ clock }) => {
      const dueAt = clock.date() + 5_000;
      return {
        decide: ({ lamp }, memory) => {
          const level = lamp.spec?.level ?? 0;
          const status = level === 0 || lamp.status?.level === level ? undefined : { level };
          return decision({ memory, status, statusDueAt: level === 2 ? clock.date() + 5_000 : dueAt });
        },
      };
    });
    await createLamp(world, 1);
    await world.clock.advance(4_999);
    expect(world.calls).toEqual([]);
    await world.clock.advance(1);
    expect(world.calls).toEqual(['status {"level":1}']);
    const setLevel = (level: number) => world.client.patch(lamps, place, { type: "merge", body: { spec: { level } } });
    await setLevel(2);
    await world.clock.advance(1_000);
    await setLevel(0);
    await world.clock.advance(60_000);
    expect(world.calls).toEqual(['status {"level":1}']);
  });

  test("reconciles again at requeueAt, counted from the decision by a clock that does not jump", async () => {
    const times: number[] = [];
    const world = start(({ clock }) => ({
      decide: ({ lamp }, memory, now) => {
        times.push(clock.now());
        return decision({ memory, status: lamp.status ? undefined : { level: 1 }, requeueAt: now + 1_000 });
      },
      now: () => clock.date() + 500 * times.length,
    }));
    world.server.onRequest = ({ verb }) => (verb === "patch" ? { delayMs: 300 } : undefined);
    await createLamp(world, 1);
    await world.clock.advance(2_500);
    expect(times).toEqual([0, 1_000, 2_000]);
  });

  test("skips the rest of a failed action's group, reports the failure, and retries the pass", async () => {
    const groups: string[] = [];
    const world = start((world) => ({
      decide: ({ level, problem }, memory) =>
        decision({
          actions: level === 0 ? [{ do: "raise" }, { do: "raise" }, { do: "polish" }] : [],
          memory,
          status: { level, ...(problem && { problem }) },
        }),
      perform: (action, observed) => {
        groups.push(action.do);
        if (action.do === "raise" && groups.length === 1) return Promise.reject(new KubeError("InternalError", "no"));
        if (action.do === "raise") world.level = 1;
        return Promise.resolve({ ...observed, level: world.level });
      },
      groupOf: (action) => action.do,
      failed: (error, _, observed) => ({ observed: { ...observed, problem: (error as Error).message }, retry: true }),
    }));
    await createLamp(world, 1);
    expect(groups).toEqual(["raise", "polish"]);
    expect(world.calls).toEqual(['status {"level":0,"problem":"no"}']);
    await world.clock.advance(1_000);
    expect(groups).toEqual(["raise", "polish", "raise", "raise", "polish"]);
    expect(world.calls[1]).toBe('status {"level":1}');
  });

  test("does not retry a failure that would be refused again, and writes no status about an unknown state", async () => {
    const failures = { refused: { retry: false }, unknown: { retry: true, observed: undefined } };
    for (const [name, failure] of Object.entries(failures)) {
      const world = start(() => ({
        perform: () => Promise.reject(new Error(name)),
        failed: (_error, _action, observed) => ({ observed: { ...observed, problem: name }, ...failure }),
      }));
      await createLamp(world, 1);
      expect(world.calls).toEqual(name === "refused" ? ['status {"level":0,"problem":"refused"}'] : []);
      expect(world.logged).toHaveLength(name === "refused" ? 0 : 1);
    }
  });

  test("an action that fails without an explanation ends the pass", async () => {
    const world = start(() => ({ perform: () => Promise.reject(new Error("no")) }));
    await createLamp(world, 1);
    expect(world.calls).toEqual([]);
    expect(world.logged).toMatchObject([{ message: "reconcile failed", err: { message: "no" } }]);
  });

  test("records each event once in a pass", async () => {
    const world = start((world) => ({
      decide: ({ level, lamp }, memory) =>
        decision({
          actions: level < 2 ? [{ do: "raise" }] : [],
          memory,
          status: lamp.status ? undefined : { level },
          events: [event("same"), event(`level ${level}`)],
        }),
      recordEvent: (_, { text }) => void world.calls.push(text),
    }));
    await createLamp(world, 2);
    expect(world.calls).toEqual(["same", "level 0", "raise", "level 1", "raise", "level 2", 'status {"level":2}']);
  });

  test("a decided TerminalError is logged and not retried", async () => {
    let decisions = 0;
    const world = start(() => ({
      decide: (_, memory) => {
        decisions += 1;
        return decision({ memory, error: new TerminalError("never") });
      },
    }));
    await createLamp(world, 1);
    await world.clock.advance(600_000);
    expect([decisions, world.logged]).toMatchObject([1, [{ message: "reconcile gave up", key: "a/one" }]]);
  });

  test("ends every pass with what was attempted, and a span with the error", async () => {
    const ends: unknown[] = [];
    const world = start(() => ({
      perform: () => Promise.reject(new Error("no")),
      trace: (observed) => ({
        observed: { ...observed, problem: "traced" },
        span: {
          performing: (action) => void ends.push(`performing ${action.do}`),
          end: (error) => void ends.push(`span ${String(error)}`),
        },
      }),
      finish: (key, { observed, attempted, succeeded }) =>
        void ends.push([key, observed?.problem, attempted.map((action) => action.do), succeeded]),
    }));
    await createLamp(world, 1);
    expect(ends).toEqual(["performing raise", "span Error: no", ["a/one", "traced", ["raise"], false]]);
    ends.length = 0;
    await world.client.delete(lamps, place);
    await world.clock.advance(1_000);
    expect(ends).toEqual([["a/one", undefined, [], true]]);
  });

  test("passes the answer to the status write on, for the memory", async () => {
    const memories: Memory[] = [];
    const world = start(() => ({
      decide: ({ lamp }, memory) => {
        memories.push(memory);
        return decision({ memory, status: lamp.status ? undefined : { level: 9 } });
      },
      onWritten: ({ status }) => ({ decisions: status?.level ?? 0 }),
    }));
    await createLamp(world, 1);
    await world.client.patch(lamps, place, { type: "merge", body: { spec: { level: 2 } } });
    await world.clock.advance(0);
    expect(memories).toEqual([{ decisions: 0 }, { decisions: 9 }]);
  });
});
