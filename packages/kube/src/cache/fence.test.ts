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
  /** Someone else, whose writes record nothing. */
  readonly other: Client;
  /** Writes under the scope `me`. */
  readonly me: Client;
  /** Faults of the connection behind `me` and the informers. */
  onRequest: OnRequest;
  /** Begins to wait; says when it is over. */
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
  test("holds a scope until the watch shows what it wrote, and nobody else", async () => {
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

  test("does not hold for a write that changed nothing, or one that was only tried", async () => {
    const { clock, fence, me, other } = await openRig();
    await other.create(pods, { metadata: { ...key, labels: { a: "1" } } });
    await clock.advance(0);
    await me.patch(pods, key, merge({ a: "1" }));
    await me.patch(pods, key, merge({ a: "2" }), { dryRun: true });
    expect(fence.isCaughtUp("me")).toBe(true);
  });

  test("ignores resources that nobody caches", async () => {
    const { fence, me } = await openRig();
    await me.create(secrets, pod);
    expect(fence.isCaughtUp("me")).toBe(true);
  });

  test("forgets by itself what the watch has shown, though nobody waits", async () => {
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

  test("waits for a delete to be shown, and takes the create it never saw for no reason to go on", async () => {
    const { clock, server, informer, fence, me, waitForMe } = await openRig();
    const delays = [100, 200];
    server.watchDelayMs = () => delays.shift() ?? 0;
    const { metadata } = await me.create(pods, pod);
    await me.delete(pods, key, { preconditions: { uid: metadata?.uid ?? "" } });
    // The cache shows nothing, as if all were well, because it has not even seen the create.
    expect([informer.size, fence.isCaughtUp("me")]).toEqual([0, false]);
    const wait = waitForMe();
    await clock.advance(199);
    expect([wait.over, informer.size]).toEqual([false, 1]);
    await clock.advance(1);
    expect([wait.over, informer.size, server.requests.get("list pods")]).toEqual([true, 0, undefined]);
  });

  test("waits for the delete of an object the cache shows", async () => {
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

  test("is content with a successor under the same name", async () => {
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

  test("a delete held by a finalizer counts as the write it is", async () => {
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
    "%s past the write settles it: others may have deleted it",
    async (what) => {
      const { clock, server, fence, me, other, informer } = await openRig({ labelSelector: "app=web" });
      server.watchDelayMs = () => 100;
      // Never in the scope of the informer, so no event of its own will ever come.
      await me.create(pods, pod);
      if (what === "a bookmark") server.sendBookmarks();
      else await other.create(pods, { metadata: { name: "y", namespace: "a", labels: { app: "web" } } });
      expect(fence.isCaughtUp("me")).toBe(false);
      await clock.advance(100);
      expect([fence.isCaughtUp("me"), informer.get("a/x")]).toEqual([true, undefined]);
    },
  );

  test("reads the object itself when the watch is too late, and is not taken back by it", async () => {
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

  test("lists once instead of reading many objects one by one", async () => {
    const { clock, server, informer, me, waitForMe } = await openRig();
    server.watchDelayMs = () => 60_000;
    for (let n = 0; n < 50; n += 1) await me.create(pods, { metadata: { generateName: "p-", namespace: "a" } });
    const wait = waitForMe();
    await clock.advance(1_000);
    expect([wait.over, informer.size, server.requests.get("list pods")]).toEqual([true, 50, 1]);
  });

  test.for(["before", "after"] as const)(
    "a create whose answer was lost %s it was carried out is looked up at once",
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

  test("finds what it created without knowing its name", async () => {
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
    ["the object is there already", ({ me }) => me.create(pods, pod)],
    [
      "its version is another",
      ({ me }) => me.patch(pods, key, { ...merge({}), preconditions: { resourceVersion: "1" } }),
    ],
  ])("looks again when the server says that %s", async ([, write]) => {
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

  test("believes the server's NotFound over the cache", async () => {
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

  test("has nothing to wait for after a refusal that says nothing about the object", async () => {
    const rig = await openRig();
    const { fence, me } = rig;
    rig.onRequest = () => ({ refuse: { reason: "TooManyRequests", retryAfterSeconds: 60 } });
    await expect(me.create(pods, pod)).rejects.toMatchObject({ reason: "TooManyRequests" });
    expect(fence.isCaughtUp("me")).toBe(true);
  });

  test("fails as the live read fails, and is still behind then", async () => {
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

  test("stops waiting when asked to", async () => {
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

  test("keeps a write that another controller records while the server is being read", async () => {
    const rig = await openRig();
    const { clock, server, fence, informer, me, other, waitForMe } = rig;
    server.watchDelayMs = () => 10_000;
    await me.create(pods, pod);
    rig.onRequest = ({ verb }) => (verb === "list" ? { delayMs: 100 } : undefined);
    const wait = waitForMe();
    await clock.advance(1_000);
    // The list is under way, and will be answered as of this version; then comes one that it cannot show.
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

  test("is not satisfied with an older write of two whose answers came in the wrong order", async () => {
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

  test("tells when what was created is gone before any cache showed it", async () => {
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
