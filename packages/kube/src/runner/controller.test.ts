import { afterEach, describe, expect, test } from "vitest";
import { Fence } from "../cache/fence.ts";
import { Informers } from "../cache/informers.ts";
import { createClient } from "../client/create-client.ts";
import type { Client } from "../client.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { MemoryApiServer, VirtualClock } from "../testing/index.ts";
import { Controller, type ControllerOptions, watching, watchingOwned } from "./controller.ts";
import { controllerOf } from "./owner.ts";
import type { Reconcile } from "./runner.ts";

interface Parent extends KubeObject {
  readonly spec?: { readonly children: number };
  readonly status?: { readonly children: number };
}

const parents: Resource<Parent> = { apiVersion: "example.com/v1", kind: "Parent", plural: "parents", namespaced: true };
const children: Resource = { apiVersion: "v1", kind: "Child", plural: "children", namespaced: true };

interface Rig {
  readonly clock: VirtualClock;
  readonly server: MemoryApiServer;
  readonly client: Client;
  readonly informers: Informers;
  readonly fence: Fence;
}

const rigs: Rig[] = [];

function openRig(): Rig {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [{ ...parents, status: true }, children], scheduler: clock });
  const client = createClient(server, { clock, random: () => 0 });
  const informers = new Informers({ client, scheduler: clock, follow: { random: () => 0 } });
  const rig = { clock, server, client, informers, fence: new Fence({ informers, scheduler: clock }) };
  rigs.push(rig);
  return rig;
}

afterEach(async () => {
  for (const { informers } of rigs.splice(0)) await informers[Symbol.asyncDispose]();
});

/** Creates as many children as the parent asks for, with generated names: deciding on a stale cache would create too many. */
function makeChildren({ informers }: Rig): Reconcile {
  const parentCache = informers.get(parents);
  const byOwner = informers.get(children).index("owner", (child) => [controllerOf(child)?.uid ?? ""]);
  return async (key, { client }) => {
    const parent = parentCache.get(key);
    if (parent?.metadata?.uid === undefined) return;
    const { name = "", namespace = "", uid } = parent.metadata;
    const ownerReferences = [{ apiVersion: parents.apiVersion, kind: parents.kind, name, uid, controller: true }];
    const wanted = parent.spec?.children ?? 0;
    for (let count = byOwner.count(uid); count < wanted; count += 1) {
      await client.create(children, { metadata: { generateName: `${name}-`, namespace, ownerReferences } });
    }
    const status = { children: byOwner.count(uid) };
    if (parent.status?.children === status.children) return;
    await client.patch(parents, { name, namespace }, { type: "merge", body: { status } }, { subresource: "status" });
  };
}

type Choices = Pick<ControllerOptions<Parent>, "reconcile" | "when" | "triggers" | "resyncMs" | "signal">;

function start({ client, clock, fence, informers }: Rig, choices: Choices): Controller {
  const primary = informers.get(parents);
  return Controller.start({ name: "parents", client, fence, scheduler: clock, primary, ...choices });
}

describe("Controller", () => {
  test("creates what the objects ask for, without superfluous writes", async () => {
    const rig = openRig();
    const { clock, server, client, informers } = rig;
    await client.create(parents, { metadata: { name: "early", namespace: "a" }, spec: { children: 2 } });
    await using controller = start(rig, {
      triggers: [watchingOwned(informers.get(children), parents)],
      reconcile: makeChildren(rig),
    });
    await clock.advance(0);
    await controller.ready;
    await client.create(parents, { metadata: { name: "late", namespace: "b" }, spec: { children: 3 } });
    await clock.advance(1_000);
    expect(server.readAll(children)).toHaveLength(5);
    expect(server.readAll(parents).map(({ status }) => status)).toEqual([{ children: 2 }, { children: 3 }]);
    expect(Object.fromEntries(server.writes)).toEqual({
      "create parents": 2,
      "create children": 5,
      "patch parents/status": 4,
    });
  });

  test("creates no child twice when the watch of the children is late", async () => {
    const rig = openRig();
    const { clock, server, client, informers } = rig;
    server.watchDelayMs = ({ plural }) => (plural === "children" ? 400 : 0);
    await using controller = start(rig, {
      triggers: [watchingOwned(informers.get(children), parents)],
      reconcile: makeChildren(rig),
    });
    await clock.advance(0);
    await controller.ready;
    const parent = { name: "one", namespace: "a" };
    await client.create(parents, { metadata: parent, spec: { children: 3 } });
    for (let label = 0; label < 5; label += 1) {
      await clock.advance(20);
      await client.patch(parents, parent, { type: "merge", body: { metadata: { labels: { label: String(label) } } } });
    }
    await clock.advance(10_000);
    expect(server.readAll(children)).toHaveLength(3);
    expect(server.read(parents, parent)?.status).toEqual({ children: 3 });
  });

  test("creates again what was deleted before any cache had shown it", async () => {
    const rig = openRig();
    const { clock, server, client, informers } = rig;
    const cache = informers.get(children);
    await using controller = start(rig, {
      reconcile: async (_, pass) => {
        if (cache.size === 0) await pass.client.create(children, { metadata: { generateName: "x-", namespace: "a" } });
      },
    });
    await clock.advance(0);
    await controller.ready;
    server.watchDelayMs = ({ plural }) => (plural === "children" ? 900 : 0);
    await client.create(parents, { metadata: { name: "one", namespace: "a" } });
    await clock.advance(10);
    await client.delete(children, { name: server.readAll(children)[0]?.metadata?.name ?? "", namespace: "a" });
    // The list that heals the gap jumps over both the create and the delete: it changes nothing.
    server.compact();
    server.cutWatches();
    await clock.advance(60_000);
    expect(server.readAll(children)).toHaveLength(1);
    expect(server.writes.get("create children")).toBe(2);
  });

  test("reconciles objects that just changed before those of the first list", async () => {
    const rig = openRig();
    const { clock, client } = rig;
    for (const name of ["a", "b", "c"]) await client.create(parents, { metadata: { name, namespace: "a" } });
    const seen: string[] = [];
    await using controller = start(rig, {
      reconcile: async (key) => {
        seen.push(key);
        await clock.sleep(10);
      },
    });
    await clock.advance(0);
    await controller.ready;
    await client.patch(parents, { name: "c", namespace: "a" }, { type: "merge", body: { spec: { children: 1 } } });
    await clock.advance(100);
    expect(seen).toEqual(["a/a", "a/c", "a/b"]);
  });

  test("reconciles every object periodically, and one key on request", async () => {
    const rig = openRig();
    const { clock, client } = rig;
    for (const name of ["a", "b"]) await client.create(parents, { metadata: { name, namespace: "a" } });
    const seen: string[] = [];
    await using controller = start(rig, {
      resyncMs: 60_000,
      reconcile: (key) => {
        seen.push(`${key} at ${clock.now()}`);
        return Promise.resolve();
      },
    });
    await clock.advance(1_000);
    controller.enqueue("a/b");
    await clock.advance(60_000);
    expect(seen).toEqual(["a/a at 0", "a/b at 0", "a/b at 1000", "a/a at 60000", "a/b at 60000"]);
  });

  test("ignores filtered changes, and enqueues the old owner as well as the new one", async () => {
    const rig = openRig();
    const { clock, client, informers } = rig;
    const seen: string[] = [];
    await using controller = start(rig, {
      when: ({ old, new: now }) => old?.spec !== now?.spec && now?.metadata?.labels?.["quiet"] === undefined,
      triggers: [watching(informers.get(children), ({ metadata }) => metadata?.labels?.["of"]?.split("+") ?? [])],
      reconcile: (key) => {
        seen.push(key);
        return Promise.resolve();
      },
    });
    await clock.advance(0);
    await controller.ready;
    await client.create(parents, { metadata: { name: "quiet", namespace: "a", labels: { quiet: "" } } });
    await client.create(parents, { metadata: { name: "loud", namespace: "a" }, spec: { children: 0 } });
    await clock.advance(0);
    const child = await client.create(children, { metadata: { name: "x", namespace: "a", labels: { of: "one+two" } } });
    await clock.advance(0);
    await client.update(children, { metadata: { ...child.metadata, labels: { of: "three" } } });
    await clock.advance(0);
    expect(seen).toEqual(["a/loud", "one", "two", "one", "two", "three"]);
  });

  test("stops with its signal, and never starts when a cache is stopped first", async () => {
    const rig = openRig();
    const { clock, server, informers } = rig;
    server.onRequest = () => ({ delayMs: 1_000 });
    const stop = new AbortController();
    const seen: string[] = [];
    const controller = start(rig, {
      signal: stop.signal,
      reconcile: (key) => {
        seen.push(key);
        return Promise.resolve();
      },
    });
    controller.enqueue("a/early");
    await clock.advance(100);
    stop.abort();
    await informers[Symbol.asyncDispose]();
    await expect(controller.ready).rejects.toThrow("the informer was stopped");
    await clock.advance(10_000);
    expect([seen, clock.pending]).toEqual([[], 0]);
  });

  test("reconciles a key once when a change names it twice", async () => {
    const rig = openRig();
    const { clock, client, informers } = rig;
    const seen: string[] = [];
    await using controller = start(rig, {
      triggers: [watching(informers.get(children), () => ["a/one", "a/one"])],
      reconcile: (key) => {
        seen.push(key);
        return Promise.resolve();
      },
    });
    await clock.advance(0);
    await controller.ready;
    const one = { name: "one", namespace: "a" };
    await client.create(parents, { metadata: one });
    await clock.advance(0);
    await client.patch(parents, one, { type: "merge", body: { spec: { children: 1 } } });
    await clock.advance(0);
    await client.create(children, { metadata: { name: "x", namespace: "a" } });
    await clock.advance(0);
    expect(seen).toEqual(["a/one", "a/one", "a/one"]);
  });
});
