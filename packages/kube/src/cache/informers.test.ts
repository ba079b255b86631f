import { afterEach, describe, expect, test } from "vitest";
import { createClient } from "../client/create-client.ts";
import type { Client } from "../client.ts";
import type { Scheduler } from "../queue/scheduler.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { MemoryApiServer, VirtualClock } from "../testing/index.ts";
import type { CacheUpdate } from "./informer.ts";
import { dropManagedFields, Informers } from "./informers.ts";

const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
const pod = (name: string, namespace = "a"): KubeObject => ({ metadata: { name, namespace } });

interface Rig {
  readonly clock: VirtualClock;
  readonly server: MemoryApiServer;
  readonly client: Client;
  readonly informers: Informers;
}

const opened: Informers[] = [];

function openRig(): Rig {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [pods], scheduler: clock });
  const client = createClient(server, { clock, random: () => 0 });
  const informers = new Informers({ client, scheduler: clock, follow: { random: () => 0 } });
  opened.push(informers);
  return { clock, server, client, informers };
}

afterEach(async () => {
  for (const informers of opened.splice(0)) await informers[Symbol.asyncDispose]();
});

/** The updates of a subscriber in short form. */
function summary({ deltas, initial }: CacheUpdate<KubeObject>): string {
  const names = deltas.map((delta) => {
    const sign = delta.old === undefined ? "+" : delta.new === undefined ? "-" : "~";
    return `${sign}${delta.key}`;
  });
  return `${initial ? "initial " : ""}${names.join(" ")}`;
}

describe("Informers", () => {
  test("share one list-watch per scope", async () => {
    const { clock, server, informers } = openRig();
    expect(informers.get(pods)).toBe(informers.get(pods));
    expect(informers.get(pods, { namespace: "a" })).not.toBe(informers.get(pods));
    await clock.advance(0);
    expect(server.openWatches).toBe(2);
    expect(informers.of(pods)).toHaveLength(2);
  });

  test("reject a second trim function for the same scope", () => {
    const { informers } = openRig();
    informers.get(pods);
    expect(() => informers.get(pods, { trim: (object) => object })).toThrow("another trim function");
  });

  test("drop managed fields, or what the trim function drops, without modifying the object", async () => {
    const { clock, client, informers } = openRig();
    const managed = { metadata: { ...pod("x").metadata, managedFields: [{ manager: "kubectl" }] } };
    const created = await client.create(pods, managed);
    const trimmed = informers.get(pods);
    const bare = informers.get(pods, { namespace: "a", trim: ({ metadata = {} }) => ({ metadata }) });
    await clock.advance(0);
    expect(created.metadata?.managedFields).toBeDefined();
    expect(trimmed.get("a/x")?.metadata).toEqual(dropManagedFields(created).metadata);
    expect(trimmed.get("a/x")?.metadata).not.toHaveProperty("managedFields");
    expect(bare.get("a/x")?.kind).toBeUndefined();
  });

  test("contain only objects that their scope selects", async () => {
    const { clock, client, informers } = openRig();
    const selected = informers.get(pods, { labelSelector: "app=web" });
    await client.create(pods, { metadata: { name: "x", namespace: "a", labels: { app: "web" } } });
    await client.create(pods, pod("y"));
    await clock.advance(0);
    expect(selected.list().map(({ metadata }) => metadata?.name)).toEqual(["x"]);
    await client.patch(pods, { name: "x", namespace: "a" }, { type: "merge", body: { metadata: { labels: null } } });
    await clock.advance(0);
    expect(selected.size).toBe(0);
  });

  test("notify a subscriber of the current objects, then of changes with old and new object", async () => {
    const { clock, client, informers } = openRig();
    await client.create(pods, pod("x"));
    const informer = informers.get(pods);
    const early: string[] = [];
    informer.subscribe((update) => early.push(summary(update)));
    await clock.advance(0);
    const late: string[] = [];
    const subscription = informer.subscribe((update) => late.push(summary(update)));
    await client.create(pods, pod("y"));
    await client.patch(pods, { name: "x", namespace: "a" }, { type: "merge", body: { spec: {} } });
    await clock.advance(0);
    await client.delete(pods, { name: "y", namespace: "a" });
    await clock.advance(0);
    subscription[Symbol.dispose]();
    await client.create(pods, pod("z"));
    await clock.advance(0);
    // The connection decides how changes are batched.
    expect(early.join(" ")).toBe("initial +a/x +a/y ~a/x -a/y +a/z");
    expect(late.join(" ")).toBe("initial +a/x +a/y ~a/x -a/y");
  });

  test("report what was added, changed and deleted during a gap", async () => {
    const { clock, server, client, informers } = openRig();
    for (const name of ["stays", "changes", "goes"]) await client.create(pods, pod(name));
    const informer = informers.get(pods);
    await clock.advance(0);
    const told: string[] = [];
    informer.subscribe((update) => told.push(summary(update)));
    server.watchDelayMs = () => 60_000;
    await client.delete(pods, { name: "goes", namespace: "a" });
    await client.create(pods, pod("comes"));
    await client.patch(pods, { name: "changes", namespace: "a" }, { type: "merge", body: { spec: {} } });
    server.watchDelayMs = undefined;
    server.compact();
    server.cutWatches();
    await clock.advance(30_000);
    expect(told.slice(1)).toEqual(["~a/changes +a/comes -a/goes"]);
  });

  test("continue when a subscriber throws", async () => {
    const { clock, client, informers } = openRig();
    const informer = informers.get(pods);
    informer.subscribe(() => {
      throw new Error("broken");
    });
    const told: string[] = [];
    informer.subscribe((update) => told.push(summary(update)));
    await client.create(pods, pod("x"));
    await clock.advance(0);
    expect(told.join()).toContain("+a/x");
    expect(informer.size).toBe(1);
  });

  test("close everything when stopped, and reject a pending first list", async () => {
    const { clock, server, informers } = openRig();
    server.onRequest = () => ({ delayMs: 1_000_000 });
    const informer = informers.get(pods);
    await clock.advance(100);
    await informers[Symbol.asyncDispose]();
    await expect(informer.synced).rejects.toThrow("Cannot sync pods: the informer was stopped");
    expect([server.openWatches, clock.pending]).toEqual([0, 0]);
  });
});

describe("Informers with a malformed object", () => {
  test("keep it and all others when a trim or index function throws", async () => {
    const { clock, client, informers } = openRig();
    const fail = (object: KubeObject): KubeObject => {
      if (object.metadata?.name === "poison") throw new Error("not expected");
      return object;
    };
    const informer = informers.get(pods, { trim: fail });
    const index = informer.index("name", (object) => [fail(object).metadata?.name ?? ""]);
    for (const name of ["before", "poison", "after"]) await client.create(pods, pod(name));
    await clock.advance(0);
    expect([informer.size, index.count("after"), index.count("poison")]).toEqual([3, 1, 0]);
    await client.delete(pods, { name: "poison", namespace: "a" });
    await clock.advance(0);
    expect(informer.size).toBe(2);
  });
});

describe("Informers with a shared event loop", () => {
  test("apply changes that arrived together in one update", async () => {
    const { clock, client } = openRig();
    const turns: (() => void)[] = [];
    const scheduler: Scheduler = {
      now: () => clock.now(),
      date: () => clock.date(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      schedule: (ms, callback) => clock.schedule(ms, callback),
      turn: () => new Promise((resolve) => turns.push(resolve)),
    };
    const informers = new Informers({ client, scheduler, follow: { random: () => 0 } });
    opened.push(informers);
    const told: string[] = [];
    informers.get(pods).subscribe((update) => told.push(summary(update)));
    const next = async (): Promise<void> => {
      await clock.advance(0);
      turns.shift()?.();
      await clock.advance(0);
    };
    await next();
    await client.create(pods, pod("x"));
    await clock.advance(0);
    await client.create(pods, pod("y"));
    await client.create(pods, pod("z"));
    await next();
    await next();
    expect(told).toEqual(["initial ", "+a/x", "+a/y +a/z"]);
  });
});
