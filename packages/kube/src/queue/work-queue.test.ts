import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { type AddOptions, type Outcome, type Priority, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

function openQueue(options: Partial<WorkQueueOptions> = {}): { clock: VirtualClock; queue: WorkQueue } {
  const clock = new VirtualClock();
  return { clock, queue: new WorkQueue({ scheduler: clock, onReady: () => undefined, ...options }) };
}

/** Takes and finishes everything that is ready. */
function drain(queue: WorkQueue): string[] {
  const keys: string[] = [];
  for (let key = queue.take(); key !== undefined; key = queue.take()) {
    keys.push(key);
    queue.finish(key, { type: "done" });
  }
  return keys;
}

describe("WorkQueue", () => {
  test("hands out a key once however often it was added", () => {
    const { queue } = openQueue();
    for (const key of ["a/1", "a/2", "a/1", "a/1"]) queue.add(key);
    expect(drain(queue)).toEqual(["a/1", "a/2"]);
  });

  test("gives a key to one worker at a time, and once more when it was added meanwhile", () => {
    const { queue } = openQueue();
    queue.add("a/1");
    expect(queue.take()).toBe("a/1");
    queue.add("a/1");
    queue.add("a/1");
    expect(queue.take()).toBeUndefined();
    queue.finish("a/1", { type: "done" });
    expect(drain(queue)).toEqual(["a/1"]);
  });

  test("takes live edits before what a first list found, and lifts a key that is then edited", () => {
    const { queue } = openQueue();
    for (const key of ["a/1", "a/2", "a/3"]) queue.add(key, { priority: "background" });
    queue.add("a/9");
    queue.add("a/3");
    expect(drain(queue)).toEqual(["a/9", "a/3", "a/1", "a/2"]);
  });

  test("lets namespaces take turns, so that thousands of keys in one do not hold up another", () => {
    const { queue } = openQueue();
    for (let n = 0; n < 10_000; n += 1) queue.add(`big/${n}`);
    queue.add("small/1");
    queue.add("small/2");
    queue.add("cluster-scoped");
    expect(drain(queue).slice(0, 6)).toEqual(["big/0", "small/1", "cluster-scoped", "big/1", "small/2", "big/2"]);
  });

  test("brings back a delayed key at the earliest time asked for, with one timer", async () => {
    const { clock, queue } = openQueue();
    queue.add("a/1", { afterMs: 1_000 });
    queue.add("a/1", { afterMs: 300 });
    queue.add("a/1", { afterMs: 2_000 });
    queue.add("a/2", { afterMs: 400 });
    expect(clock.pending).toBe(1);
    await clock.advance(299);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(drain(queue)).toEqual(["a/1"]);
    await clock.advance(10_000);
    expect(drain(queue)).toEqual(["a/2"]);
  });

  test("drops the delayed visit when the key is wanted at once: that pass will ask again", async () => {
    const { clock, queue } = openQueue();
    queue.add("a/1", { afterMs: 1_000 });
    queue.add("a/1");
    expect(drain(queue)).toEqual(["a/1"]);
    await clock.advance(2_000);
    expect(drain(queue)).toEqual([]);
  });

  test("waits 5 ms after the first failure, twice as long after each further one, 1000 s at most", async () => {
    const { clock, queue } = openQueue();
    queue.add("a/1");
    const waits: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      queue.finish(queue.take() ?? "", { type: "failed" });
      const from = clock.now();
      await clock.runUntil(() => queue.depth === 1);
      waits.push(clock.now() - from);
    }
    expect(waits.slice(0, 5)).toEqual([5, 10, 20, 40, 80]);
    expect(waits.slice(-2)).toEqual([1_000_000, 1_000_000]);
  });

  test.for<[string, Outcome]>([
    ["success", { type: "done" }],
    ["a wish to look again", { type: "again", afterMs: 60_000 }],
  ])("starts the backoff anew after %s", async ([, outcome]) => {
    const { clock, queue } = openQueue();
    queue.add("a/1");
    for (let n = 0; n < 8; n += 1) {
      queue.finish(queue.take() ?? "", { type: "failed" });
      await clock.runUntil(() => queue.depth === 1);
    }
    queue.finish(queue.take() ?? "", outcome);
    queue.add("a/1");
    queue.finish(queue.take() ?? "", { type: "failed" });
    const from = clock.now();
    await clock.runUntil(() => queue.depth === 1);
    expect(clock.now() - from).toBe(5);
  });

  test("does not bring back a key sooner than the server asked, not even for an event", async () => {
    const { clock, queue } = openQueue();
    queue.add("a/1");
    queue.take();
    queue.add("a/1");
    queue.finish("a/1", { type: "failed", atLeastMs: 3_000 });
    queue.add("a/1");
    await clock.advance(2_999);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(drain(queue)).toEqual(["a/1"]);
  });

  test("tells when a key becomes ready, how deep it is and how long keys waited", async () => {
    const told: unknown[] = [];
    const { clock, queue } = openQueue({
      onReady: () => told.push("ready"),
      metrics: {
        added: () => told.push("added"),
        depth: (keys) => told.push({ keys }),
        taken: (waitedMs) => told.push({ waitedMs }),
        retried: () => told.push("retried"),
      },
    });
    queue.add("a/1");
    await clock.advance(7);
    queue.finish(queue.take() ?? "", { type: "failed" });
    await clock.advance(5);
    expect(told).toEqual([
      "added",
      { keys: 1 },
      "ready",
      { keys: 0 },
      { waitedMs: 7 },
      "retried",
      { keys: 1 },
      "ready",
    ]);
  });

  test("forgets what waits when it is closed, and takes nothing more", async () => {
    const { clock, queue } = openQueue();
    for (const key of ["a/1", "a/2"]) queue.add(key);
    queue.add("a/3", { afterMs: 10 });
    queue.take();
    queue.close();
    queue.add("a/4");
    queue.finish("a/1", { type: "failed" });
    await clock.advance(100);
    expect([queue.depth, queue.take(), clock.pending]).toEqual([0, undefined, 0]);
  });

  test("refuses to finish what was not taken", () => {
    const { queue } = openQueue();
    queue.add("a/1");
    expect(() => queue.finish("a/1", { type: "done" })).toThrow('Cannot finish "a/1": it was not taken');
  });
});

/** The queue as one would write it without a care for speed: a list of wishes, searched anew each time. */
class Model {
  readonly #wishes = new Map<string, { priority: Priority; dueAt: number; planned: number; order: number }>();
  readonly #running = new Map<string, { priority: Priority; dueAt: number } | undefined>();
  readonly #turns: Record<Priority, Map<string, number>> = { live: new Map(), background: new Map() };
  #order = 0;

  add(key: string, { priority = "live", afterMs = 0 }: AddOptions, now: number): void {
    const wish = { priority, dueAt: now + afterMs };
    if (this.#running.has(key)) this.#running.set(key, sooner(this.#running.get(key), wish));
    else this.#plan(key, wish, now);
  }

  finish(key: string, now: number): void {
    const next = this.#running.get(key);
    this.#running.delete(key);
    if (next !== undefined) this.#plan(key, next, now);
  }

  /** Which keys could be next, by the rules: highest priority, then the namespace that waited longest, then its oldest key. */
  take(now: number): string | undefined {
    this.wake(now);
    for (const lane of ["live", "background"] as const) {
      const ready = [...this.#wishes].filter(([, wish]) => wish.dueAt <= now && wish.priority === lane);
      if (ready.length === 0) continue;
      const turn = this.#turns[lane];
      const namespace = ready
        .map(([key]) => key.split("/")[0] ?? "")
        .reduce((a, b) => ((turn.get(b) ?? 0) < (turn.get(a) ?? 0) ? b : a));
      const [key] = ready
        .filter(([other]) => other.startsWith(`${namespace}/`))
        .reduce((a, b) => (b[1].order < a[1].order ? b : a));
      this.#wishes.delete(key);
      this.#running.set(key, undefined);
      const isLast = ![...this.#wishes].some(
        ([other, wish]) => other.startsWith(`${namespace}/`) && wish.order > 0 && wish.priority === lane,
      );
      if (isLast) turn.delete(namespace);
      else turn.set(namespace, (this.#order += 1));
      return key;
    }
    return undefined;
  }

  /** Puts what has fallen due in line, in the order of its times. */
  wake(now: number): void {
    const due = [...this.#wishes].filter(([, wish]) => wish.order === 0 && wish.dueAt <= now);
    for (const [key, wish] of due.sort(([, a], [, b]) => a.dueAt - b.dueAt || a.planned - b.planned))
      this.#line(key, wish);
  }

  #plan(key: string, wish: { priority: Priority; dueAt: number }, now: number): void {
    const old = this.#wishes.get(key);
    if (old !== undefined && old.order > 0) {
      if (wish.dueAt > now || old.priority === "live" || wish.priority === "background") return;
      this.#wishes.delete(key);
      this.#leave(key, old.priority);
      this.#line(key, { ...old, priority: "live" });
      return;
    }
    const wanted = sooner(old, wish);
    const planned = old !== undefined && old.dueAt === wanted.dueAt ? old.planned : (this.#order += 1);
    const next = { ...wanted, planned, order: 0 };
    if (next.dueAt <= now) this.#line(key, next);
    else this.#wishes.set(key, next);
  }

  #line(key: string, wish: { priority: Priority; dueAt: number }): void {
    this.#order += 1;
    const namespace = key.split("/")[0] ?? "";
    this.#wishes.set(key, { ...wish, planned: 0, order: this.#order });
    if (!this.#turns[wish.priority].has(namespace)) this.#turns[wish.priority].set(namespace, this.#order);
  }

  #leave(key: string, lane: Priority): void {
    const namespace = key.split("/")[0] ?? "";
    const others = [...this.#wishes].some(
      ([other, wish]) => other.startsWith(`${namespace}/`) && wish.order > 0 && wish.priority === lane,
    );
    if (!others) this.#turns[lane].delete(namespace);
  }
}

function sooner(
  a: { priority: Priority; dueAt: number } | undefined,
  b: { priority: Priority; dueAt: number },
): { priority: Priority; dueAt: number } {
  if (a === undefined) return b;
  const isLive = a.priority === "live" || b.priority === "live";
  return { priority: isLive ? "live" : "background", dueAt: Math.min(a.dueAt, b.dueAt) };
}

const key = fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat({ max: 3 })).map(([namespace, n]) => `${namespace}/${n}`);
const priority = fc.constantFrom<Priority>("live", "background");
const step = fc.oneof(
  fc.record({ do: fc.constant("add" as const), key, priority, afterMs: fc.constantFrom(0, 0, 10, 25, 40) }),
  fc.record({ do: fc.constant("take" as const) }),
  fc.record({ do: fc.constant("finish" as const), which: fc.nat({ max: 20 }) }),
  fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 30 }) }),
);

describe("WorkQueue against a model", () => {
  test("hands out the same keys in the same order, none to two workers", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120, size: "max" }), async (steps) => {
        const { clock, queue } = openQueue();
        const model = new Model();
        const running: string[] = [];
        const given: (string | undefined)[] = [];
        const expected: (string | undefined)[] = [];
        for (const move of steps) {
          if (move.do === "add") {
            queue.add(move.key, move);
            model.add(move.key, move, clock.now());
          } else if (move.do === "pass") {
            // One millisecond at a time: keys due at different times fall in line in that order.
            for (let ms = 0; ms < move.ms; ms += 1) {
              await clock.advance(1);
              model.wake(clock.now());
            }
          } else if (move.do === "take") {
            const taken = queue.take();
            given.push(taken !== undefined && running.includes(taken) ? `${taken}, taken twice` : taken);
            expected.push(model.take(clock.now()));
            if (taken !== undefined) running.push(taken);
          } else if (running.length > 0) {
            const [done = ""] = running.splice(move.which % running.length, 1);
            queue.finish(done, { type: "done" });
            model.finish(done, clock.now());
          }
        }
        expect(given).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});
