import { afterEach, describe, expect, test } from "vitest";
import { Fence } from "../cache/fence.ts";
import { Informers } from "../cache/informers.ts";
import { createClient } from "../client/create-client.ts";
import { KubeError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { ControllerPriority } from "../queue/controller-priority.ts";
import type { Scheduler } from "../queue/scheduler.ts";
import type { Resource } from "../resource.ts";
import { MemoryApiServer, VirtualClock } from "../testing/index.ts";
import { type Reconcile, Runner, type RunnerOptions } from "./runner.ts";
import { TerminalError } from "./terminal-error.ts";

const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };

interface Rig {
  readonly clock: VirtualClock;
  readonly server: MemoryApiServer;
  readonly informers: Informers;
  /** `key at ms`, or `key end ms`. */
  readonly passes: string[];
  readonly logged: string[];
  readonly runner: Runner;
}

const opened: { readonly informers: Informers }[] = [];

function openRig(reconcile: (rig: Rig) => Reconcile, options: Partial<RunnerOptions> = {}): Rig {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [pods], scheduler: clock });
  const client = createClient(server, { clock, random: () => 0 });
  const informers = new Informers({ client, scheduler: clock, follow: { random: () => 0 } });
  const fence = new Fence({ informers, scheduler: clock });
  const logged: string[] = [];
  const write = (level: string) => (_: object, message: string) => logged.push(`${level}: ${message}`);
  const log: Logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  const passes: string[] = [];
  const runner = new Runner({
    name: "test",
    client,
    fence,
    scheduler: clock,
    log,
    reconcile: (key, pass) => {
      passes.push(`${key} at ${clock.now()}`);
      return reconcile(rig)(key, pass);
    },
    ...options,
  });
  const rig: Rig = { clock, server, informers, passes, logged, runner };
  opened.push(rig);
  return rig;
}

afterEach(async () => {
  for (const { informers } of opened.splice(0)) await informers[Symbol.asyncDispose]();
});

const nothing: Reconcile = () => Promise.resolve();

describe("Runner", () => {
  test("reconciles nothing before it is started", async () => {
    const { clock, passes, runner } = openRig(() => nothing);
    runner.add("a/1");
    await clock.advance(100);
    expect(passes).toEqual([]);
    runner.start();
    await clock.advance(0);
    expect(passes).toEqual(["a/1 at 100"]);
  });

  test("reconciles as many keys in parallel as it has workers, and never one key twice", async () => {
    let most = 0;
    const running = new Set<string>();
    const { clock, passes, runner } = openRig(
      ({ clock }) =>
        async (key) => {
          if (running.has(key)) throw new Error("twice at once");
          running.add(key);
          most = Math.max(most, running.size);
          await clock.sleep(10);
          running.delete(key);
        },
      { workers: 3 },
    );
    runner.start();
    for (const key of ["a/1", "a/2", "a/3", "a/4", "a/5"]) runner.add(key);
    await clock.advance(5);
    runner.add("a/1");
    runner.add("a/1");
    await clock.advance(100);
    expect(most).toBe(3);
    expect(passes.filter((pass) => pass.startsWith("a/1"))).toEqual(["a/1 at 0", "a/1 at 10"]);
  });

  test("reconciles again after requeueAfterMs", async () => {
    const { clock, passes, runner } = openRig(() => () => Promise.resolve({ requeueAfterMs: 250 }));
    runner.start();
    runner.add("a/1");
    await clock.advance(600);
    expect(passes).toEqual(["a/1 at 0", "a/1 at 250", "a/1 at 500"]);
  });

  test("retries a creation in a namespace that is being deleted without a warning", async () => {
    const details = { causes: [{ reason: "NamespaceTerminating" }] };
    const cause = new KubeError("Forbidden", "no new content", { details });
    const { clock, passes, logged, runner } = openRig(() => () => Promise.reject(new Error("no Pod", { cause })));
    runner.start();
    runner.add("a/1");
    await clock.advance(5);
    expect(passes).toHaveLength(2);
    expect(new Set(logged)).toEqual(new Set(["debug: reconcile failed: the namespace is being deleted"]));
  });

  test("retries a failed pass with backoff and logs it", async () => {
    const { clock, passes, logged, runner } = openRig(() => () => Promise.reject(new Error("no")));
    runner.start();
    runner.add("a/1");
    await clock.advance(40);
    expect(passes).toEqual(["a/1 at 0", "a/1 at 5", "a/1 at 15", "a/1 at 35"]);
    expect(logged.slice(0, 1)).toEqual(["warn: reconcile failed"]);
  });

  test("handles a reconcile that throws synchronously like any other failure", async () => {
    const { clock, passes, runner } = openRig(() => () => {
      throw new Error("at once");
    });
    runner.start();
    runner.add("a/1");
    await clock.advance(5);
    expect(passes).toHaveLength(2);
  });

  test("waits as long as Retry-After says, even if the key is added meanwhile", async () => {
    const busy = new KubeError("TooManyRequests", "busy", { retryAfterMs: 2_000 });
    const { clock, passes, runner } = openRig(() => () => Promise.reject(busy));
    runner.start();
    runner.add("a/1");
    await clock.advance(1_000);
    runner.add("a/1");
    await clock.advance(1_500);
    expect(passes).toEqual(["a/1 at 0", "a/1 at 2000"]);
  });

  test("does not retry after a TerminalError until something changes", async () => {
    const { clock, passes, logged, runner } = openRig(() => () => Promise.reject(new TerminalError("never")));
    runner.start();
    runner.add("a/1");
    await clock.advance(1_000_000);
    runner.add("a/1");
    await clock.advance(0);
    expect(passes).toEqual(["a/1 at 0", "a/1 at 1000000"]);
    expect(logged).toEqual(["error: reconcile gave up", "error: reconcile gave up"]);
  });

  test("a key that waits for the watch to show its writes occupies no worker", async () => {
    const reconcile: Reconcile = async (key, { client }) => {
      if (key === "a/slow") await client.create(pods, { metadata: { generateName: "p-", namespace: "a" } });
    };
    const { clock, server, informers, passes, runner } = openRig(() => reconcile);
    informers.get(pods);
    await clock.advance(0);
    server.watchDelayMs = () => 200;
    runner.start();
    runner.add("a/slow");
    await clock.advance(1);
    runner.add("a/slow");
    runner.add("a/other");
    await clock.advance(300);
    expect(passes).toEqual(["a/slow at 0", "a/other at 1", "a/slow at 200"]);
  });

  test("repeats a pass that ignored a lost answer, after a live read", async () => {
    const { clock, server, informers, passes, runner } = openRig(({ informers }) => async (_, { client }) => {
      if (informers.get(pods).size > 0) return;
      await client.create(pods, { metadata: { generateName: "p-", namespace: "a" } }).catch(() => undefined);
    });
    informers.get(pods);
    await clock.advance(0);
    server.watchDelayMs = () => 60_000;
    server.onRequest = ({ verb }) => (verb === "create" ? { reset: "after" } : undefined);
    runner.start();
    runner.add("a/1");
    await clock.advance(100);
    expect(passes).toEqual(["a/1 at 0", "a/1 at 1"]);
    expect(server.readAll(pods)).toHaveLength(1);
  });

  test("retries with backoff when the live read fails", async () => {
    const { clock, server, informers, passes, logged, runner } = openRig(() => async (_, { client }) => {
      await client.create(pods, { metadata: { name: "x", namespace: "a" } }).catch(() => undefined);
    });
    informers.get(pods);
    await clock.advance(0);
    server.onRequest = () => ({ reset: "before" });
    runner.start();
    runner.add("a/1");
    await clock.advance(3);
    expect([passes.length, logged]).toEqual([1, ["warn: reconcile failed"]]);
    server.onRequest = undefined;
    await clock.advance(10);
    expect(server.readAll(pods)).toHaveLength(1);
  });

  test("reports results and durations to the metrics", async () => {
    const told: unknown[] = [];
    const results: Record<string, Reconcile> = {
      "a/good": () => Promise.resolve(),
      "a/later": () => Promise.resolve({ requeueAfterMs: 1_000_000 }),
      "a/bad": () => Promise.reject(new KubeError("TooManyRequests", "busy", { retryAfterMs: 1_000_000 })),
      "a/hopeless": () => Promise.reject(new TerminalError("never")),
    };
    const { clock, runner } = openRig(
      ({ clock }) =>
        async (key, pass) => {
          await clock.sleep(7);
          return results[key]?.(key, pass);
        },
      { metrics: { reconciled: (result, tookMs) => told.push([result, tookMs]) } },
    );
    runner.start();
    for (const key of Object.keys(results)) runner.add(key);
    await clock.advance(100);
    expect(told).toEqual([
      ["success", 7],
      ["requeue_after", 7],
      ["error", 7],
      ["terminal", 7],
    ]);
  });
});

describe("Runner.stop()", () => {
  /** Takes a second, or until aborted when it listens. */
  const slow =
    (listens: boolean) =>
    ({ clock, passes }: Rig): Reconcile =>
    async (key, { signal }) => {
      await clock.sleep(30_000, listens ? signal : undefined);
      passes.push(`${key} end ${clock.now()}`);
    };

  test("waits for running passes and starts no other", async () => {
    const { clock, passes, runner } = openRig(slow(true), { stopWithinMs: 60_000 });
    runner.start();
    runner.add("a/1");
    runner.add("a/2");
    await clock.advance(1_000);
    const stopping = runner.stop();
    runner.add("a/3");
    await clock.advance(100_000);
    await stopping;
    expect(passes).toEqual(["a/1 at 0", "a/1 end 30000"]);
  });

  test("aborts passes that do not end within the bound", async () => {
    const { clock, passes, runner } = openRig(slow(true));
    runner.start();
    runner.add("a/1");
    await clock.advance(1_000);
    const stopping = runner.stop();
    await clock.advance(10_000);
    await stopping;
    expect(passes).toEqual(["a/1 at 0", "a/1 end 11000"]);
  });

  test("logs a pass that ignores the abort signal and does not wait for it", async () => {
    const { clock, logged, runner } = openRig(slow(false));
    runner.start();
    runner.add("a/1");
    await clock.advance(1_000);
    const stopping = runner.stop();
    await clock.advance(20_000);
    await stopping;
    expect(logged).toEqual(["error: passes did not stop"]);
  });

  test("does not wait for keys that wait for the watch", async () => {
    const { clock, server, informers, passes, runner } = openRig(() => async (_, { client }) => {
      await client.create(pods, { metadata: { generateName: "p-", namespace: "a" } });
    });
    informers.get(pods);
    await clock.advance(0);
    server.watchDelayMs = () => 1_000_000;
    runner.start();
    runner.add("a/1");
    await clock.advance(0);
    runner.add("a/1");
    await clock.advance(0);
    await runner.stop();
    await clock.advance(5_000);
    expect(passes).toEqual(["a/1 at 0"]);
  });

  test("uses fewer workers, but not none, while a controller with priority is busy", async () => {
    const priority = new ControllerPriority();
    const ends = Promise.withResolvers<void>();
    const { clock, runner, passes } = openRig(
      ({ clock: time }) =>
        () =>
          time.sleep(100),
      { workers: 8, yieldsTo: priority },
    );
    const first = openRig(() => () => ends.promise, { workers: 2, reportKeys: (keys) => priority.reportKeys(keys) });
    for (const each of [first.runner, runner]) each.start();
    for (let key = 0; key < 7; key += 1) first.runner.add(`urgent-${key}`);
    for (let key = 0; key < 10; key += 1) runner.add(`key-${key}`);
    await clock.advance(150);
    expect(passes).toEqual(["key-0 at 0", "key-1 at 0", "key-2 at 100", "key-3 at 100"]);
    ends.resolve();
    await clock.advance(0);
    expect(passes.slice(4)).toEqual([
      "key-4 at 150",
      "key-5 at 150",
      "key-6 at 150",
      "key-7 at 150",
      "key-8 at 150",
      "key-9 at 150",
    ]);
  });

  test("starts no pass while a controller with priority has its first keys, and then goes on (COST-13)", async () => {
    const schedule: Scheduler["schedule"] = (ms, callback) => rig.clock.schedule(ms, callback);
    const priority = new ControllerPriority({ holdMs: 300, scheduler: { schedule } as Scheduler });
    const rig = openRig(
      ({ clock: time }) =>
        () =>
          time.sleep(1),
      { workers: 8, yieldsTo: priority },
    );
    const { clock, runner, passes } = rig;
    runner.start();
    priority.reportKeys(7);
    for (let key = 0; key < 3; key += 1) runner.add(`key-${key}`);
    await clock.advance(299);
    expect(passes).toEqual([]);
    await clock.advance(2);
    expect(passes).toEqual(["key-0 at 300", "key-1 at 300", "key-2 at 301"]);
  });

  test("slow passes of one namespace leave workers for another", async () => {
    const ends = Promise.withResolvers<void>();
    const slow = (): Reconcile => (key) => (key.startsWith("slow/") ? ends.promise : Promise.resolve());
    const { clock, runner, passes } = openRig(slow, { workers: 4, workersPerNamespace: 3 });
    runner.start();
    for (let key = 0; key < 100; key += 1) runner.add(`slow/${key}`);
    await clock.advance(0);
    for (let key = 0; key < 3; key += 1) runner.add(`quick/${key}`);
    await clock.advance(0);
    const begun = passes.map((one) => one.split(" ")[0]);
    expect(begun).toEqual(["slow/0", "slow/1", "slow/2", "quick/0", "quick/1", "quick/2"]);
    ends.resolve();
    await clock.advance(0);
    expect(passes).toHaveLength(103);
  });
});
