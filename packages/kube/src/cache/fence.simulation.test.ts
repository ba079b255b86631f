import { describe, expect, test } from "vitest";
import { createClient } from "../client/create-client.ts";
import type { Client, Patch } from "../client.ts";
import { type KubeObject, objectKey, type Resource } from "../resource.ts";
import { Controller, watchingOwned } from "../runner/controller.ts";
import { controllerOf } from "../runner/owner.ts";
import type { Reconcile } from "../runner/runner.ts";
import { type ApiCall, type Fault, MemoryApiServer, seededRandom, VirtualClock } from "../testing/index.ts";
import { Fence } from "./fence.ts";
import { Informers } from "./informers.ts";

interface Parent extends KubeObject {
  readonly spec?: { readonly goal: number; readonly model: number };
  readonly status?: { readonly count?: number; readonly nonce?: number };
}

interface Child extends KubeObject {
  readonly spec?: { readonly model: number };
}

const parents: Resource<Parent> = { apiVersion: "example.com/v1", kind: "Parent", plural: "parents", namespaced: true };
const children: Resource<Child> = { apiVersion: "v1", kind: "Child", plural: "children", namespaced: true };
const namespace = "test";

interface World {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly server: MemoryApiServer;
  readonly user: Client;
  readonly informers: Informers;
}

/**
 * Keeps one child of the parent's model per parent, its name given by the server, and counts the parent's status up to
 * its goal in steps of one. Nothing but a true view of its own writes keeps it from making two or counting twice.
 */
function reconcileIn({ informers, random }: World): Reconcile {
  const parentCache = informers.get(parents);
  const byOwner = informers.get(children).index("owner", (child) => [controllerOf(child)?.uid ?? ""]);
  return async (key, { client }) => {
    const parent = parentCache.get(key);
    if (parent?.metadata?.uid === undefined || parent.spec === undefined) return;
    const { name = "", uid } = parent.metadata;
    const { model, goal } = parent.spec;
    const owned = byOwner.get(uid);
    for (const child of owned) {
      if (child.spec?.model === model) continue;
      const { uid: childUid = "", name: childName = "" } = child.metadata ?? {};
      await client.delete(children, { name: childName, namespace }, { preconditions: { uid: childUid } });
    }
    if (!owned.some((child) => child.spec?.model === model)) {
      const ownerReferences = [{ apiVersion: parents.apiVersion, kind: parents.kind, name, uid, controller: true }];
      await client.create(children, {
        metadata: { generateName: `${name}-`, namespace, ownerReferences },
        spec: { model },
      });
    }
    const count = (parent.status?.count ?? 0) + 1;
    if (count > goal) return;
    const body = { status: { count, nonce: random() } };
    // The uid, because users recreate parents: that no fence can foresee.
    const patch: Patch = { type: "merge", body, preconditions: { uid } };
    await client.patch(parents, { name, namespace }, patch, { subresource: "status" });
  };
}

/** Notes what the controller did wrong, as the server sees it, the moment it happens. */
function judge(server: MemoryApiServer): string[] {
  const faults: string[] = [];
  server.onChange(({ previous, object, resource }) => {
    if (resource.kind === "Parent") {
      const before = (previous as Parent)?.status;
      const after = (object as Parent).status;
      if (after?.nonce !== before?.nonce && after?.count !== (before?.count ?? 0) + 1) {
        faults.push(`"${object.metadata?.name}" was counted from ${before?.count} to ${after?.count}`);
      }
    } else if (previous === undefined) {
      const twins = server.readAll(children).filter((child) => nameplate(child) === nameplate(object));
      if (twins.length > 1) faults.push(`${nameplate(object)} was made while it was there`);
    }
  });
  return faults;
}

function nameplate(child: Child): string {
  return `model ${child.spec?.model} of ${controllerOf(child)?.name} ${controllerOf(child)?.uid}`;
}

/** What is not as the parents ask. */
function findUnfinished(server: MemoryApiServer): string[] {
  return server.readAll(parents).flatMap((parent) => {
    const owned = server.readAll(children).filter((child) => controllerOf(child)?.uid === parent.metadata?.uid);
    const isDone = owned.length === 1 && owned[0]?.spec?.model === parent.spec?.model;
    return isDone && parent.status?.count === parent.spec?.goal ? [] : [objectKey(parent)];
  });
}

const parentNames = ["one", "two", "three"];

/** Edits, deletes and recreates as users do, at random moments. */
async function disturb({ clock, random, server, user }: World): Promise<void> {
  for (const name of parentNames)
    await user.create(parents, { metadata: { name, namespace }, spec: { goal: 5, model: 0 } });
  for (let step = 0; step < 12; step += 1) {
    await clock.advance(random() * 1_500);
    const name = parentNames[Math.floor(random() * parentNames.length)] ?? "one";
    const choice = random();
    if (choice < 0.3) await edit(user, name, { metadata: { labels: { step: String(step) } } });
    else if (choice < 0.5) await edit(user, name, { spec: { model: step } });
    else if (choice < 0.65) {
      const [victim] = server.readAll(children);
      if (victim !== undefined) await user.delete(children, { name: victim.metadata?.name ?? "", namespace });
    } else if (choice < 0.75) {
      await user.delete(parents, { name, namespace });
      await user.create(parents, { metadata: { name, namespace }, spec: { goal: 2, model: step } });
    } else if (choice < 0.85) server.cutWatches();
    else if (choice < 0.9) {
      server.compact();
      server.cutWatches();
    } else server.sendBookmarks();
  }
}

async function edit(user: Client, name: string, body: object): Promise<void> {
  await user.patch(parents, { name, namespace }, { type: "merge", body });
}

function hostile(random: () => number, { verb }: ApiCall): Fault | undefined {
  if (verb === "watch") return { delayMs: random() * 100 };
  const draw = random();
  if (draw < 0.05) return { reset: "before" };
  if (draw < 0.1) return { reset: "after" };
  if (draw < 0.13) return { refuse: { reason: "InternalError" } };
  return { delayMs: random() * 30 };
}

interface Verdict {
  readonly faults: readonly string[];
  readonly unfinished: readonly string[];
}

async function simulate(seed: number, { fenced }: { fenced: boolean }): Promise<Verdict> {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const server = new MemoryApiServer({ resources: [{ ...parents, status: true }, children], scheduler: clock });
  const faults = judge(server);
  const user = createClient(server, { clock, random });
  const client = createClient(
    server.connect((call) => hostile(random, call)),
    { clock, random },
  );
  await using informers = new Informers({ client, scheduler: clock, follow: { random } });
  // A fence over no informers waits for nothing.
  await using none = new Informers({ client, scheduler: clock });
  using fence = new Fence({ informers: fenced ? informers : none, scheduler: clock });
  const world = { clock, random, server, user, informers };
  await using controller = Controller.start({
    name: "simulated",
    client,
    fence,
    scheduler: clock,
    workers: 2,
    primary: informers.get(parents),
    triggers: [watchingOwned(informers.get(children), parents)],
    reconcile: reconcileIn(world),
  });
  await clock.runUntil(() => informers.get(children).hasSynced && informers.get(parents).hasSynced);
  await controller.ready;
  server.watchDelayMs = () => random() * 5_000;
  await disturb(world);
  server.watchDelayMs = undefined;
  await clock.advance(120_000);
  return { faults, unfinished: findUnfinished(server) };
}

async function simulateMany(runs: number, options: { fenced: boolean }): Promise<Map<number, Verdict>> {
  const bad = new Map<number, Verdict>();
  for (let seed = 1; seed <= runs; seed += 1) {
    const verdict = await simulate(seed, options);
    if (verdict.faults.length + verdict.unfinished.length > 0) bad.set(seed, verdict);
  }
  return bad;
}

const runs = Number(process.env["FENCE_RUNS"] ?? 300);

describe("a controller on caches that lag up to 5 s, each kind on its own, over a connection that loses answers", () => {
  test("behind the fence never acts on a state older than its own last write", { timeout: 600_000 }, async () => {
    expect(await simulateMany(runs, { fenced: true })).toEqual(new Map());
  });

  test("without the fence acts on stale state in most runs: the experiment can tell", { timeout: 60_000 }, async () => {
    const bad = await simulateMany(20, { fenced: false });
    expect(bad.size).toBeGreaterThan(10);
  });
});
