import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { type AddOptions, type Outcome, type Priority, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

function openQueue(options: Partial<WorkQueueOptions> = {}): { clock: VirtualClock; queue: WorkQueue } {
  const clock = new VirtualClock();
  return { clock, queue: new WorkQueue({ scheduler: clock, onReady: () => undefined, ...options }) };
}

/** Takes and finishes all ready keys. */
function drain(queue: WorkQueue): string[] {
  const keys: string[] = [];
  for (let key = queue.take(); key !== undefined; key = queue.take()) {
    keys.push(key);
    queue.finish(key, { type: "done" });
  }
  return keys;
}

describe("WorkQueue", () => {
  test("returns a key once however often it was added", () => {
    const { queue } = openQueue();
    for (const key of ["a/1", "a/2", "a/1", "a/1"]) queue.add(key);
    expect(drain(queue)).toEqual(["a/1", "a/2"]);
  });

  test("gives a key to one worker at a time, and once more if it was added meanwhile", () => {
    const { queue } = openQueue();
    queue.add("a/1");
    expect(queue.take()).toBe("a/1");
    queue.add("a/1");
    queue.add("a/1");
    expect(queue.take()).toBeUndefined();
    queue.finish("a/1", { type: "done" });
    expect(drain(queue)).toEqual(["a/1"]);
  });

  test("takes live keys before background keys, and raises a background key that is added as live", () => {
    const { queue } = openQueue();
    for (const key of ["a/1", "a/2", "a/3"]) queue.add(key, { priority: "background" });
    queue.add("a/9");
    queue.add("a/3");
    expect(drain(queue)).toEqual(["a/9", "a/3", "a/1", "a/2"]);
  });

  test("lets namespaces take turns, so that thousands of keys in one do not delay another", () => {
    const { queue } = openQueue();
    for (let n = 0; n < 10_000; n += 1) queue.add(`big/${n}`);
    queue.add("small/1");
    queue.add("small/2");
    queue.add("cluster-scoped");
    expect(drain(queue).slice(0, 6)).toEqual(["big/0", "small/1", "cluster-scoped", "big/1", "small/2", "big/2"]);
  });

  test("makes a delayed key ready at the earliest requested time, with one timer", async () => {
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

  test("drops the delayed time when the key is added without delay", async () => {
    const { clock, queue } = openQueue();
    queue.add("a/1", { afterMs: 1_000 });
    queue.add("a/1");
    expect(drain(queue)).toEqual(["a/1"]);
    await clock.advance(2_000);
    expect(drain(queue)).toEqual([]);
  });

  test("waits 5 ms after the first failure, doubling up to 1000 s", async () => {
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
    ["a requeue", { type: "again", afterMs: 60_000 }],
  ])("resets the backoff after %s", async ([, outcome]) => {
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

  test("does not make a key ready before the server's Retry-After, not even for an event", async () => {
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

  test("reports ready keys, the depth and the waiting time", async () => {
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

  test("drops waiting keys when it is closed, and accepts no more", async () => {
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

  test("rejects to finish a key that was not taken", () => {
    const { queue } = openQueue();
    queue.add("a/1");
    expect(() => queue.finish("a/1", { type: "done" })).toThrow('Cannot finish "a/1": it was not taken');
  });
});

/** A simple, slow model of the queue: a list of requests that is searched each time. */
class Model {
  readonly #requeues = new Map<string, { priority: Priority; dueAt: number; planned: number; order: number }>();
  readonly #running = new Map<string, { priority: Priority; dueAt: number } | undefined>();
  readonly #turns: Record<Priority, Map<string, number>> = { live: new Map(), background: new Map() };
  #order = 0;

  add(key: string, { priority = "live", afterMs = 0 }: AddOptions, now: number): void {
    const requeue = { priority, dueAt: now + afterMs };
    if (this.#running.has(key)) this.#running.set(key, sooner(this.#running.get(key), requeue));
    else this.#plan(key, requeue, now);
  }

  finish(key: string, now: number): void {
    const next = this.#running.get(key);
    this.#running.delete(key);
    if (next !== undefined) this.#plan(key, next, now);
  }

  /** The keys that may be next: by priority, then by the namespace that waited longest, then by age. */
  take(now: number): string | undefined {
    this.wake(now);
    for (const lane of ["live", "background"] as const) {
      const ready = [...this.#requeues].filter(([, requeue]) => requeue.dueAt <= now && requeue.priority === lane);
      if (ready.length === 0) continue;
      const turn = this.#turns[lane];
      const namespace = ready
        .map(([key]) => key.split("/")[0] ?? "")
        .reduce((a, b) => ((turn.get(b) ?? 0) < (turn.get(a) ?? 0) ? b : a));
      const [key] = ready
        .filter(([other]) => other.startsWith(`${namespace}/`))
        .reduce((a, b) => (b[1].order < a[1].order ? b : a));
      this.#requeues.delete(key);
      this.#running.set(key, undefined);
      const isLast = ![...this.#requeues].some(
        ([other, requeue]) => other.startsWith(`${namespace}/`) && requeue.order > 0 && requeue.priority === lane,
      );
      if (isLast) turn.delete(namespace);
      else turn.set(namespace, (this.#order += 1));
      return key;
    }
    return undefined;
  }

  /** Makes due keys ready in the order of their times. */
  wake(now: number): void {
    const due = [...this.#requeues].filter(([, requeue]) => requeue.order === 0 && requeue.dueAt <= now);
    for (const [key, requeue] of due.sort(([, a], [, b]) => a.dueAt - b.dueAt || a.planned - b.planned))
      this.#line(key, requeue);
  }

  #plan(key: string, requeue: { priority: Priority; dueAt: number }, now: number): void {
    const old = this.#requeues.get(key);
    if (old !== undefined && old.order > 0) {
      if (requeue.dueAt > now || old.priority === "live" || requeue.priority === "background") return;
      this.#requeues.delete(key);
      this.#leave(key, old.priority);
      this.#line(key, { ...old, priority: "live" });
      return;
    }
    const wanted = sooner(old, requeue);
    const planned = old !== undefined && old.dueAt === wanted.dueAt ? old.planned : (this.#order += 1);
    const next = { ...wanted, planned, order: 0 };
    if (next.dueAt <= now) this.#line(key, next);
    else this.#requeues.set(key, next);
  }

  #line(key: string, requeue: { priority: Priority; dueAt: number }): void {
    this.#order += 1;
    const namespace = key.split("/")[0] ?? "";
    this.#requeues.set(key, { ...requeue, planned: 0, order: this.#order });
    if (!this.#turns[requeue.priority].has(namespace)) this.#turns[requeue.priority].set(namespace, this.#order);
  }

  #leave(key: string, lane: Priority): void {
    const namespace = key.split("/")[0] ?? "";
    const others = [...this.#requeues].some(
      ([other, requeue]) => other.startsWith(`${namespace}/`) && requeue.order > 0 && requeue.priority === lane,
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
  test("returns the same keys in the same order as the model, none to two workers", async () => {
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
            // One millisecond at a time, so that keys become ready in the order of their times.
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
