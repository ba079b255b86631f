import { afterEach, describe, expect, test } from "vitest";
import { createClient } from "../client/create-client.ts";
import type { Client } from "../client.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { MemoryApiServer, type OnRequest, VirtualClock } from "../testing/index.ts";
import { Fence } from "./fence.ts";
import { FencedClient } from "./fenced-client.ts";
import type { Informer } from "./informer.ts";
import { Informers } from "./informers.ts";

const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
const secrets: Resource = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const key = { name: "x", namespace: "a" };
const pod: KubeObject = { metadata: key };
const merge = (labels: object) => ({ type: "merge", body: { metadata: { labels } } }) as const;

interface Rig {
  readonly clock: VirtualClock;
  readonly server: MemoryApiServer;
  readonly informer: Informer;
  readonly fence: Fence;
  /** Another client, whose writes are not recorded. */
  readonly other: Client;
  /** A client that writes under the scope `me`. */
  readonly me: Client;
  /** Faults of the connection that `me` and the informers use. */
  onRequest: OnRequest;
  /** Starts to wait and reports when the wait is over. */
  readonly waitForMe: (signal?: AbortSignal) => { over: boolean; error?: unknown };
}

const opened: Informers[] = [];

async function openRig(scope: { labelSelector?: string } = {}): Promise<Rig> {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [pods, secrets], scheduler: clock });
  const connection = server.connect((call) => rig.onRequest(call));
  const client = createClient(connection, { clock, random: () => 0 });
  const informers = new Informers({ client, scheduler: clock, follow: { random: () => 0 } });
  opened.push(informers);
  const fence = new Fence({ informers, scheduler: clock });
  const waitForMe: Rig["waitForMe"] = (signal) => {
    const wait: { over: boolean; error?: unknown } = { over: false };
    const follow = async (): Promise<void> => {
      await fence.caughtUp("me", signal).catch((error: unknown) => (wait.error = error));
      wait.over = true;
    };
    void follow();
    return wait;
  };
  const me = new FencedClient(client, fence, "me");
  const other = createClient(server, { clock, random: () => 0 });
  const informer = informers.get(pods, scope);
  const rig: Rig = { clock, server, informer, fence, other, me, onRequest: () => undefined, waitForMe };
  await clock.advance(0);
  return rig;
}

afterEach(async () => {
  for (const informers of opened.splice(0)) await informers[Symbol.asyncDispose]();
});

describe("Fence", () => {
  test("holds only the scope that wrote, until the watch delivers the write", async () => {
    const { clock, server, informer, fence, me, waitForMe } = await openRig();
    server.watchDelayMs = () => 300;
    await me.create(pods, pod);
    expect([fence.isCaughtUp("me"), fence.isCaughtUp("other")]).toEqual([false, true]);
    const wait = waitForMe();
    await clock.advance(299);
    expect(wait.over).toBe(false);
    await clock.advance(1);
    expect(wait.over).toBe(true);
    expect(informer.get("a/x")).toBeDefined();
    expect([fence.size, server.requests.get("list pods")]).toEqual([0, undefined]);
  });

  test("does not hold for a write that changed nothing, or for a dry run", async () => {
    const { clock, fence, me, other } = await openRig();
    await other.create(pods, { metadata: { ...key, labels: { a: "1" } } });
    await clock.advance(0);
    await me.patch(pods, key, merge({ a: "1" }));
    await me.patch(pods, key, merge({ a: "2" }), { dryRun: true });
    expect(fence.isCaughtUp("me")).toBe(true);
  });

  test("ignores resources without a cache", async () => {
    const { fence, me } = await openRig();
    await me.create(secrets, pod);
    expect(fence.isCaughtUp("me")).toBe(true);
  });

  test("drops writes that the watch has delivered although nobody waits", async () => {
    const { clock, server, fence, me } = await openRig();
    server.watchDelayMs = () => 10;
    await me.create(pods, pod);
    await me.patch(pods, key, merge({ a: "1" }));
    expect(fence.size).toBe(1);
    await clock.advance(20);
    expect(fence.size).toBe(0);
  });

  test("waits for the last of several writes to one object", async () => {
    const { clock, server, informer, me, waitForMe } = await openRig();
    let delayMs = 100;
    server.watchDelayMs = () => (delayMs += 100);
    await me.create(pods, pod);
    await me.patch(pods, key, merge({ step: "2" }));
    const wait = waitForMe();
    await clock.advance(299);
    expect([wait.over, informer.size]).toEqual([false, 1]);
    await clock.advance(1);
    expect(wait.over).toBe(true);
  });

  test("waits for a delete although the cache never contained the object", async () => {
    const { clock, server, informer, fence, me, waitForMe } = await openRig();
    const delays = [100, 200];
    server.watchDelayMs = () => delays.shift() ?? 0;
    const { metadata } = await me.create(pods, pod);
    await me.delete(pods, key, { preconditions: { uid: metadata?.uid ?? "" } });
    // The cache has no object because it has not received the create yet.
    expect([informer.size, fence.isCaughtUp("me")]).toEqual([0, false]);
    const wait = waitForMe();
    await clock.advance(199);
    expect([wait.over, informer.size]).toEqual([false, 1]);
    await clock.advance(1);
    expect([wait.over, informer.size, server.requests.get("list pods")]).toEqual([true, 0, undefined]);
  });

  test("waits for the delete of an object in the cache", async () => {
    const { clock, server, fence, me, other, waitForMe } = await openRig();
    const { metadata } = await other.create(pods, pod);
    await clock.advance(0);
    server.watchDelayMs = () => 100;
    await me.delete(pods, key, { preconditions: { uid: metadata?.uid ?? "" } });
    expect(fence.isCaughtUp("me")).toBe(false);
    const wait = waitForMe();
    await clock.advance(100);
    expect([wait.over, server.requests.get("list pods")]).toEqual([true, undefined]);
  });

  test("accepts a new object with the same name", async () => {
    const { clock, server, me, other, informer, waitForMe } = await openRig();
    const { metadata } = await other.create(pods, pod);
    await clock.advance(0);
    server.watchDelayMs = () => 100;
    await me.delete(pods, key, { preconditions: { uid: metadata?.uid ?? "" } });
    const successor = await other.create(pods, pod);
    const wait = waitForMe();
    await clock.advance(200);
    expect([wait.over, informer.get("a/x")?.metadata?.uid]).toEqual([true, successor.metadata?.uid]);
  });

  test("treats a delete that a finalizer blocks as an update", async () => {
    const { clock, server, informer, me, other, waitForMe } = await openRig();
    await other.create(pods, { metadata: { ...key, finalizers: ["example.com/hold"] } });
    await clock.advance(0);
    server.watchDelayMs = () => 100;
    await me.delete(pods, key);
    const wait = waitForMe();
    await clock.advance(99);
    expect(wait.over).toBe(false);
    await clock.advance(1);
    expect([wait.over, informer.get("a/x")?.metadata?.deletionTimestamp !== undefined]).toEqual([true, true]);
  });

  test.for(["a bookmark", "an event of another object"])(
    "ends the wait at %s after the write, because others may have deleted the object",
    async (what) => {
      const { clock, server, fence, me, other, informer } = await openRig({ labelSelector: "app=web" });
      server.watchDelayMs = () => 100;
      // Outside the scope of the informer, so no event for it will arrive.
      await me.create(pods, pod);
      if (what === "a bookmark") server.sendBookmarks();
      else await other.create(pods, { metadata: { name: "y", namespace: "a", labels: { app: "web" } } });
      expect(fence.isCaughtUp("me")).toBe(false);
      await clock.advance(100);
      expect([fence.isCaughtUp("me"), informer.get("a/x")]).toEqual([true, undefined]);
    },
  );

  test("reads the object when the watch is late, and ignores older events afterwards", async () => {
    const { clock, server, informer, me, waitForMe } = await openRig();
    server.watchDelayMs = () => 5_000;
    await me.create(pods, pod);
    await me.patch(pods, key, merge({ step: "2" }));
    const wait = waitForMe();
    await clock.advance(999);
    expect([wait.over, server.requests.get("list pods")]).toEqual([false, undefined]);
    await clock.advance(1);
    expect([wait.over, server.requests.get("list pods")]).toEqual([true, 1]);
    const seen: (string | undefined)[] = [];
    informer.subscribe(() => seen.push(informer.get("a/x")?.metadata?.labels?.["step"]));
    await clock.advance(10_000);
    expect(new Set(seen)).toEqual(new Set(["2"]));
  });

  test("lists once instead of reading many objects", async () => {
    const { clock, server, informer, me, waitForMe } = await openRig();
    server.watchDelayMs = () => 60_000;
    for (let n = 0; n < 50; n += 1) await me.create(pods, { metadata: { generateName: "p-", namespace: "a" } });
    const wait = waitForMe();
    await clock.advance(1_000);
    expect([wait.over, informer.size, server.requests.get("list pods")]).toEqual([true, 50, 1]);
  });

  test.for(["before", "after"] as const)(
    "reads at once after a create whose response was lost %s it was carried out",
    async (reset) => {
      const rig = await openRig();
      const { clock, server, informer, fence, me, waitForMe } = rig;
      server.watchDelayMs = () => 60_000;
      rig.onRequest = ({ verb }) => (verb === "create" ? { reset } : undefined);
      await expect(me.create(pods, pod)).rejects.toMatchObject({ reason: "Interrupted" });
      expect([fence.isCaughtUp("me"), fence.isUncertain("me")]).toEqual([false, true]);
      const wait = waitForMe();
      await clock.advance(0);
      expect([wait.over, informer.get("a/x") !== undefined]).toEqual([true, reset === "after"]);
    },
  );

  test("finds an object that it created with a generated name", async () => {
    const rig = await openRig();
    const { clock, server, informer, me, other, waitForMe } = rig;
    await other.create(pods, { metadata: { name: "elsewhere", namespace: "b" } });
    await clock.advance(0);
    server.watchDelayMs = () => 60_000;
    rig.onRequest = ({ verb }) => (verb === "create" ? { reset: "after" } : undefined);
    await expect(me.create(pods, { metadata: { generateName: "p-", namespace: "a" } })).rejects.toThrow("reset");
    const wait = waitForMe();
    await clock.advance(0);
    expect([wait.over, informer.list().map(({ metadata }) => metadata?.namespace)]).toEqual([true, ["b", "a"]]);
  });

  test.for<[string, (rig: Rig) => Promise<unknown>]>([
    ["the object already exists", ({ me }) => me.create(pods, pod)],
    [
      "its version is different",
      ({ me }) => me.patch(pods, key, { ...merge({}), preconditions: { resourceVersion: "1" } }),
    ],
  ])("reads the object when the server reports that %s", async ([, write]) => {
    const rig = await openRig();
    const { clock, server, informer, other, waitForMe } = rig;
    server.watchDelayMs = () => 60_000;
    await other.create(pods, pod);
    await expect(write(rig)).rejects.toMatchObject({ code: 409 });
    expect(informer.size).toBe(0);
    const wait = waitForMe();
    await clock.advance(0);
    expect([wait.over, informer.size]).toEqual([true, 1]);
  });

  test("reads the object when the server reports NotFound and the cache has it", async () => {
    const { clock, server, informer, me, other, waitForMe } = await openRig();
    await other.create(pods, pod);
    await clock.advance(0);
    server.watchDelayMs = () => 60_000;
    await other.delete(pods, key);
    await expect(me.delete(pods, key)).rejects.toMatchObject({ reason: "NotFound" });
    expect(informer.size).toBe(1);
    const wait = waitForMe();
    await clock.advance(0);
    expect([wait.over, informer.size]).toEqual([true, 0]);
  });

  test("does not wait after a rejection that is not about the object", async () => {
    const rig = await openRig();
    const { fence, me } = rig;
    rig.onRequest = () => ({ refuse: { reason: "TooManyRequests", retryAfterSeconds: 60 } });
    await expect(me.create(pods, pod)).rejects.toMatchObject({ reason: "TooManyRequests" });
    expect(fence.isCaughtUp("me")).toBe(true);
  });

  test("fails when the live read fails, and keeps waiting for the write", async () => {
    const rig = await openRig();
    const { clock, server, fence, me, waitForMe } = rig;
    server.watchDelayMs = () => 60_000;
    await me.create(pods, pod);
    rig.onRequest = () => ({ refuse: { reason: "InternalError" } });
    const wait = waitForMe();
    await clock.advance(1_000);
    expect(wait.error).toMatchObject({ reason: "InternalError" });
    expect(fence.isCaughtUp("me")).toBe(false);
  });

  test("stops waiting when aborted", async () => {
    const { clock, server, me, waitForMe } = await openRig();
    server.watchDelayMs = () => 60_000;
    await me.create(pods, pod);
    const stop = new AbortController();
    const wait = waitForMe(stop.signal);
    await clock.advance(10);
    stop.abort(new Error("enough"));
    await clock.advance(0);
    expect(wait.error).toEqual(new Error("enough"));
  });

  test("keeps a write that another controller records during a live read", async () => {
    const rig = await openRig();
    const { clock, server, fence, informer, me, other, waitForMe } = rig;
    server.watchDelayMs = () => 10_000;
    await me.create(pods, pod);
    rig.onRequest = ({ verb }) => (verb === "list" ? { delayMs: 100 } : undefined);
    const wait = waitForMe();
    await clock.advance(1_000);
    // The running list will return this version; the next write is not in it.
    const later = await other.patch(pods, key, merge({ step: "2" }));
    const answered = { ...later, metadata: { ...later.metadata, resourceVersion: "99" } };
    fence.wrote("me", pods, answered);
    await clock.advance(150);
    expect([wait.over, fence.isCaughtUp("me")]).toEqual([false, false]);
    for (let version = Number(server.resourceVersion); version < 99; version += 1) {
      await other.patch(pods, key, merge({ step: String(version) }));
    }
    await clock.advance(2_000);
    expect([wait.over, informer.knownAt("a/x")]).toEqual([true, "99"]);
  });

  test("waits for the newer of two writes whose responses arrived in the wrong order", async () => {
    const { clock, server, fence, other, waitForMe } = await openRig();
    server.watchDelayMs = () => 100;
    const first = await other.create(pods, pod);
    server.watchDelayMs = () => 500;
    const second = await other.patch(pods, key, merge({ step: "2" }));
    fence.wrote("me", pods, second);
    fence.wrote("me", pods, first);
    const wait = waitForMe();
    await clock.advance(499);
    expect(wait.over).toBe(false);
    await clock.advance(1);
    expect(wait.over).toBe(true);
  });

  test("reports an object that was deleted before any cache contained it", async () => {
    const { clock, server, fence, informer, me, other } = await openRig();
    const vanished: string[] = [];
    fence.onVanished((scope) => vanished.push(scope));
    server.watchDelayMs = () => 60_000;
    await me.create(pods, pod);
    await other.delete(pods, key);
    server.watchDelayMs = undefined;
    server.compact();
    server.cutWatches();
    await clock.advance(30_000);
    expect([vanished, informer.size, fence.size]).toEqual([["me"], 0, 0]);
  });

  test("does not wait for versions of a server that was restored from a backup", async () => {
    const { clock, server, informer, me, waitForMe } = await openRig();
    const backup = server.snapshot();
    await me.create(pods, { metadata: { name: "shown", namespace: "a" } });
    await clock.advance(0);
    server.watchDelayMs = () => 60_000;
    await me.create(pods, pod);
    server.restore(backup);
    await clock.advance(30_000);
    const wait = waitForMe();
    await clock.advance(0);
    expect([wait.over, informer.size, server.requests.get("list pods")]).toEqual([true, 0, 2]);
  });
});
