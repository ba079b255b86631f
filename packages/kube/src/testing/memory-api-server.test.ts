import { describe, expect, test } from "vitest";
import { createClient } from "../client/create-client.ts";
import type { Client } from "../client.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { WatchEvent } from "../transport.ts";
import { MemoryApiServer } from "./memory-api-server.ts";
import { VirtualClock } from "./virtual-clock.ts";

interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number; readonly nodeName?: string };
  readonly status?: { readonly ready?: boolean };
}

const widgets: Resource<Widget> = { apiVersion: "example.com/v1", kind: "Widget", plural: "widgets", namespaced: true };
const pods: Resource<Widget> = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
const namespaces: Resource = { apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false };
const key = { name: "x", namespace: "a" };

function openRig(): { clock: VirtualClock; server: MemoryApiServer; client: Client } {
  const clock = new VirtualClock();
  const resources = [{ ...widgets, status: true }, { ...pods, graceful: true }, namespaces];
  const server = new MemoryApiServer({ resources, scheduler: clock });
  return { clock, server, client: createClient(server, { clock, random: () => 0 }) };
}

const ownedBy = (...owners: KubeObject[]) =>
  owners.map(({ metadata }) => ({
    apiVersion: "v1",
    kind: "Any",
    name: metadata?.name ?? "",
    uid: metadata?.uid ?? "",
  }));

describe("MemoryApiServer: writes", () => {
  test("sets metadata on create and drops the status", async () => {
    const { server, client } = openRig();
    const created = await client.create(widgets, { metadata: key, spec: { size: 1 }, status: { ready: true } });
    expect(created).toEqual({
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: {
        ...key,
        uid: "00000000-0000-4000-8000-000000000001",
        creationTimestamp: "2026-01-01T00:00:00Z",
        generation: 1,
        resourceVersion: "2",
      },
      spec: { size: 1 },
    });
    expect(server.read(widgets, key)).toEqual(created);
    await expect(client.create(widgets, { metadata: key })).rejects.toMatchObject({ reason: "AlreadyExists" });
  });

  test("generates names, and rejects objects without a name", async () => {
    const { client } = openRig();
    const made = await client.create(widgets, { metadata: { generateName: "w-", namespace: "a" } });
    expect(made.metadata?.name).toMatch(/^w-[0-9a-z]{5}$/);
    await expect(client.create(widgets, { metadata: { namespace: "a" } })).rejects.toMatchObject({ reason: "Invalid" });
  });

  test("increments the generation for changes of the spec only", async () => {
    const { client } = openRig();
    await client.create(widgets, { metadata: key, spec: { size: 1 } });
    const merge = (body: object, subresource?: string) =>
      client.patch(widgets, key, { type: "merge", body }, subresource === undefined ? {} : { subresource });
    const generations = [
      await merge({ metadata: { labels: { a: "1" } } }),
      await merge({ status: { ready: true } }, "status"),
      await merge({ spec: { size: 2 } }),
    ].map(({ metadata }) => metadata?.generation);
    expect(generations).toEqual([1, 1, 2]);
  });

  test("changes spec and status separately", async () => {
    const { client } = openRig();
    await client.create(widgets, { metadata: key, spec: { size: 1 } });
    const body = { spec: { size: 5 }, status: { ready: true } };
    await client.patch(widgets, key, { type: "merge", body }, { subresource: "status" });
    const object = await client.patch(widgets, key, { type: "merge", body: { status: { ready: false } } });
    expect([object.spec, object.status]).toEqual([{ size: 1 }, { ready: true }]);
  });

  test("creates no version and no event for a write that changes nothing", async () => {
    const { server, client } = openRig();
    const created = await client.create(widgets, { metadata: key, spec: { size: 1 } });
    const patched = await client.patch(widgets, key, { type: "merge", body: { spec: { size: 1 } } });
    expect(patched).toEqual(created);
    expect(server.resourceVersion).toBe(created.metadata?.resourceVersion);
  });

  test("rejects an update or patch with another version or uid", async () => {
    const { client } = openRig();
    const created = await client.create(widgets, { metadata: key });
    await client.patch(widgets, key, { type: "merge", body: { spec: { size: 2 } } });
    await expect(client.update(widgets, created)).rejects.toMatchObject({ reason: "Conflict" });
    const patch = { type: "merge", body: {}, preconditions: { uid: "other" } } as const;
    await expect(client.patch(widgets, key, patch)).rejects.toMatchObject({ reason: "Conflict" });
    const guarded = { type: "json", body: [], preconditions: { resourceVersion: "2" } } as const;
    await expect(client.patch(widgets, key, guarded)).rejects.toMatchObject({ reason: "Conflict" });
    await expect(client.update(widgets, { metadata: key })).rejects.toMatchObject({ reason: "Invalid" });
  });

  test("applies a JSON patch completely or not at all", async () => {
    const { server, client } = openRig();
    await client.create(widgets, { metadata: { ...key, labels: { "a/b": "1" } }, spec: { size: 1 } });
    const patch = (...body: object[]) => client.patch(widgets, key, { type: "json", body });
    await patch(
      { op: "test", path: "/spec/size", value: 1 },
      { op: "replace", path: "/spec/size", value: 2 },
      { op: "remove", path: "/metadata/labels/a~1b" },
      { op: "add", path: "/metadata/labels/c", value: "3" },
    );
    const before = server.read(widgets, key);
    expect([before?.spec, before?.metadata?.labels]).toEqual([{ size: 2 }, { c: "3" }]);
    const failing = patch(
      { op: "replace", path: "/spec/size", value: 9 },
      { op: "test", path: "/spec/size", value: 1 },
    );
    await expect(failing).rejects.toMatchObject({ reason: "Invalid" });
    await expect(patch({ op: "remove", path: "/spec/nothing" })).rejects.toMatchObject({ reason: "Invalid" });
    expect(server.read(widgets, key)).toBe(before);
  });

  test("reports unsupported requests", async () => {
    const { client } = openRig();
    await client.create(widgets, { metadata: key });
    const apply = client.patch(widgets, key, { type: "apply", body: {} }, { fieldManager: "me" });
    await expect(apply).rejects.toMatchObject({ reason: "UnsupportedMediaType" });
    await expect(client.delete(widgets, key, { propagationPolicy: "Foreground" })).rejects.toThrow("not supported");
    await expect(client.get(widgets, key, { subresource: "scale" })).rejects.toThrow('no subresource "scale"');
  });

  test("returns frozen objects", async () => {
    const { client } = openRig();
    const created = await client.create(widgets, { metadata: key, spec: { size: 1 } });
    expect(() => Object.assign(created.spec ?? {}, { size: 2 })).toThrow("read only");
  });

  test("changes nothing in a dry run", async () => {
    const { server, client } = openRig();
    await client.create(widgets, { metadata: key }, { dryRun: true });
    expect(server.readAll(widgets)).toEqual([]);
  });
});

describe("MemoryApiServer: deletes", () => {
  test("check preconditions", async () => {
    const { server, client } = openRig();
    await client.create(widgets, { metadata: key });
    const wrong = client.delete(widgets, key, { preconditions: { uid: "other" } });
    await expect(wrong).rejects.toMatchObject({ reason: "Conflict" });
    const right = { uid: server.read(widgets, key)?.metadata?.uid ?? "", resourceVersion: server.resourceVersion };
    expect(await client.delete(widgets, key, { preconditions: right })).toBeUndefined();
    await expect(client.delete(widgets, key)).rejects.toMatchObject({ reason: "NotFound" });
  });

  test("wait for the last finalizer", async () => {
    const { server, client } = openRig();
    await client.create(widgets, { metadata: { ...key, finalizers: ["a.io/x", "a.io/y"] } });
    expect((await client.delete(widgets, key))?.metadata?.deletionTimestamp).toBe("2026-01-01T00:00:00Z");
    const version = server.resourceVersion;
    await client.delete(widgets, key);
    expect(server.resourceVersion).toBe(version);
    const finalizers = (list: string[]) =>
      client.patch(widgets, key, { type: "merge", body: { metadata: { finalizers: list } } });
    await finalizers(["a.io/y"]);
    expect(server.readAll(widgets)).toHaveLength(1);
    await finalizers([]);
    expect(server.readAll(widgets)).toEqual([]);
  });

  test("wait for a delete with grace period 0 for Pods", async () => {
    const { server, client } = openRig();
    await client.create(pods, { metadata: key });
    expect((await client.delete(pods, key))?.metadata?.deletionGracePeriodSeconds).toBe(30);
    expect(server.readAll(pods)).toHaveLength(1);
    await client.delete(pods, key, { gracePeriodSeconds: 0 });
    expect(server.readAll(pods)).toEqual([]);
  });

  test("collect objects without owners in the background, and then what those owned", async () => {
    const { clock, server, client } = openRig();
    const [first, second] = [
      await client.create(widgets, { metadata: { name: "first", namespace: "a" } }),
      await client.create(widgets, { metadata: { name: "second", namespace: "a" } }),
    ];
    const child = await client.create(widgets, { metadata: { ...key, ownerReferences: ownedBy(first, second) } });
    await client.create(widgets, { metadata: { name: "y", namespace: "a", ownerReferences: ownedBy(child) } });
    await client.delete(widgets, { name: "first", namespace: "a" });
    await clock.advance(0);
    expect(server.readAll(widgets)).toHaveLength(3);
    await client.delete(widgets, { name: "second", namespace: "a" });
    expect(server.readAll(widgets)).toHaveLength(2);
    await clock.advance(0);
    expect(server.readAll(widgets)).toEqual([]);
  });
});

describe("MemoryApiServer: lists", () => {
  test.for<[string, object, string[]]>([
    ["everything", {}, ["a/one", "a/two", "b/three"]],
    ["a namespace", { namespace: "a" }, ["a/one", "a/two"]],
    ["a label", { labelSelector: "app=web" }, ["a/one", "b/three"]],
    ["not a label", { labelSelector: "app!=web" }, ["a/two"]],
    ["a set", { labelSelector: "app in (web, db),tier" }, ["a/one"]],
    ["outside a set", { labelSelector: "app notin (web)" }, ["a/two"]],
    ["an absent label", { labelSelector: "!tier" }, ["a/two", "b/three"]],
    ["a name", { fieldSelector: "metadata.name=two" }, ["a/two"]],
    ["a node", { fieldSelector: "spec.nodeName=n1,metadata.namespace!=b" }, ["a/one"]],
  ])("select by %s", async ([, options, expected]) => {
    const { client } = openRig();
    const one = { name: "one", namespace: "a", labels: { app: "web", tier: "front" } };
    await client.create(widgets, { metadata: one, spec: { nodeName: "n1" } });
    await client.create(widgets, { metadata: { name: "two", namespace: "a", labels: { app: "db" } } });
    const three = { name: "three", namespace: "b", labels: { app: "web" } };
    await client.create(widgets, { metadata: three, spec: { nodeName: "n1" } });
    const { items } = await client.list(widgets, options);
    expect(items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`)).toEqual(expected);
  });

  test("have pages of one version, and tokens that expire", async () => {
    const { server, client } = openRig();
    for (const name of ["a", "b", "c", "d", "e"]) await client.create(widgets, { metadata: { name, namespace: "a" } });
    expect((await client.list(widgets, { limit: 2 })).items).toHaveLength(5);
    const path = "/apis/example.com/v1/widgets?limit=2";
    const page = (await server.send({ method: "GET", path })).body as {
      items: unknown[];
      metadata: { continue: string };
    };
    await client.delete(widgets, { name: "d", namespace: "a" });
    const rest = { method: "GET", path: `${path}&continue=${page.metadata.continue}` } as const;
    expect(((await server.send(rest)).body as { items: unknown[] }).items).toHaveLength(2);
    server.compact();
    expect((await server.send(rest)).status).toBe(410);
  });

  test("tell a namespace from its content", async () => {
    const { client } = openRig();
    await client.create(namespaces, { metadata: { name: "a" } });
    await client.create(widgets, { metadata: key });
    expect((await client.get(namespaces, { name: "a" })).kind).toBe("Namespace");
    await expect(client.get({ ...widgets, plural: "gadgets" }, key)).rejects.toMatchObject({ reason: "NotFound" });
  });
});

/** The events of a watch so far, in short form. */
async function follow(client: Client, options: object): Promise<{ events: string[]; error?: unknown }> {
  const seen: { events: string[]; error?: unknown } = { events: [] };
  const watch = await client.watch(widgets, options);
  const read = async (): Promise<void> => {
    for await (const batch of watch) seen.events.push(...batch.map(describeEvent));
  };
  void read().catch((error: unknown) => (seen.error = error));
  return seen;
}

function describeEvent({ type, object }: WatchEvent): string {
  const { name, resourceVersion, annotations } = object.metadata ?? {};
  if (type === "ERROR") return `ERROR ${(object as { code?: number }).code}`;
  const mark = annotations?.["k8s.io/initial-events-end"] === "true" ? " end of initial events" : "";
  return `${type} ${name ?? ""}@${resourceVersion}${mark}`;
}

describe("MemoryApiServer: watches", () => {
  test("start after the given version", async () => {
    const { clock, client } = openRig();
    const first = await client.create(widgets, { metadata: key });
    await client.patch(widgets, key, { type: "merge", body: { spec: { size: 2 } } });
    const seen = await follow(client, { resourceVersion: first.metadata?.resourceVersion });
    await client.delete(widgets, key);
    await clock.advance(0);
    expect(seen.events).toEqual(["MODIFIED x@3", "DELETED x@4"]);
  });

  test("start with the current objects and a bookmark if requested", async () => {
    const { clock, client } = openRig();
    await client.create(widgets, { metadata: key });
    const seen = await follow(client, { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" });
    await client.create(widgets, { metadata: { name: "y", namespace: "a" } });
    await clock.advance(0);
    expect(seen.events).toEqual(["ADDED x@2", "BOOKMARK @2 end of initial events", "ADDED y@3"]);
  });

  test("report objects that start or stop matching their selector", async () => {
    const { clock, client } = openRig();
    await client.create(widgets, { metadata: key });
    const seen = await follow(client, { labelSelector: "app", resourceVersion: "2" });
    const label = (labels: object | null) =>
      client.patch(widgets, key, { type: "merge", body: { metadata: { labels } } });
    await label({ app: "web" });
    await label(null);
    await clock.advance(0);
    expect(seen.events).toEqual(["ADDED x@3", "DELETED x@4"]);
  });

  test("are delayed per kind, and never out of order", async () => {
    const { clock, server, client } = openRig();
    const seen = await follow(client, { resourceVersion: "1" });
    const delays = [500, 100, 0];
    server.watchDelayMs = () => delays.shift() ?? 0;
    for (const name of ["a", "b", "c"]) await client.create(widgets, { metadata: { name, namespace: "a" } });
    server.sendBookmarks();
    await clock.advance(499);
    expect(seen.events).toEqual([]);
    await clock.advance(1);
    expect(seen.events).toEqual(["ADDED a@2", "ADDED b@3", "ADDED c@4", "BOOKMARK @4"]);
  });

  test("end when cut, and get 410 for a compacted version", async () => {
    const { clock, server, client } = openRig();
    const cut = await follow(client, { resourceVersion: "1" });
    await client.create(widgets, { metadata: key });
    await clock.advance(0);
    server.cutWatches();
    await clock.advance(0);
    expect(cut).toMatchObject({ events: ["ADDED x@2"], error: { reason: "Interrupted" } });
    server.compact();
    const late = await follow(client, { resourceVersion: "1" });
    await clock.advance(0);
    expect([late.events, server.openWatches]).toEqual([["ERROR 410"], 0]);
  });

  test("close when their signal aborts", async () => {
    const { clock, server, client } = openRig();
    const stop = new AbortController();
    await follow(client, { resourceVersion: "1", signal: stop.signal });
    expect(server.openWatches).toBe(1);
    stop.abort();
    await clock.advance(0);
    expect(server.openWatches).toBe(0);
  });
});

describe("MemoryApiServer: faults", () => {
  test("lose a response before or after the write", async () => {
    const { server, client } = openRig();
    server.onRequest = () => ({ reset: "before" });
    await expect(client.create(widgets, { metadata: key })).rejects.toMatchObject({ reason: "Interrupted" });
    expect([server.readAll(widgets).length, server.writes.size]).toEqual([0, 0]);
    server.onRequest = () => ({ reset: "after" });
    await expect(client.create(widgets, { metadata: key })).rejects.toMatchObject({ reason: "Interrupted" });
    expect([server.readAll(widgets).length, server.writes.get("create widgets")]).toEqual([1, 1]);
  });

  test("reject requests like a server, with Retry-After", async () => {
    const { clock, server, client } = openRig();
    let refusals = 1;
    server.onRequest = () =>
      (refusals -= 1) < 0 ? undefined : { refuse: { reason: "TooManyRequests", retryAfterSeconds: 2 } };
    const creating = client.create(widgets, { metadata: key });
    await clock.advance(1_999);
    expect(server.readAll(widgets)).toEqual([]);
    await clock.advance(1);
    await creating;
    expect(Object.fromEntries(server.requests)).toEqual({ "create widgets": 2 });
  });

  test("affect one connection and not another", async () => {
    const { clock, server, client } = openRig();
    const slow = createClient(
      server.connect(({ verb }) => (verb === "get" ? { delayMs: 50 } : undefined)),
      { clock },
    );
    await slow.create(widgets, { metadata: key });
    await client.get(widgets, key);
    const reading = slow.get(widgets, key);
    await clock.advance(50);
    expect((await reading).metadata?.name).toBe("x");
  });

  test("restore a backup and use its versions again", async () => {
    const { server, client } = openRig();
    await client.create(widgets, { metadata: key });
    const backup = server.snapshot();
    const lost = await client.create(widgets, { metadata: { name: "lost", namespace: "a" } });
    server.restore(backup);
    const after = await client.create(widgets, { metadata: { name: "after", namespace: "a" } });
    expect(after.metadata?.resourceVersion).toBe(lost.metadata?.resourceVersion);
    expect(server.readAll(widgets).map(({ metadata }) => metadata?.name)).toEqual(["after", "x"]);
  });
});
