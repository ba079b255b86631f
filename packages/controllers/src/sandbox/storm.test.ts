import { isConditionTrue, type Pod, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import { type Fault, seededRandom } from "@agent-sandbox/kube/testing";
import { describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { restartCountAnnotation } from "./recovery.ts";
import { namespace, runningPod, SandboxWorld } from "./sandbox-world.test.support.ts";
import { StateDriver } from "./state-driver.test.support.ts";

const sandboxCount = 12;

/** Starts and stops Pods as nodes do, each at its own time. */
function playNodes(world: SandboxWorld, random: () => number): void {
  const key = ({ metadata }: Pod) => ({ namespace, name: metadata?.name ?? "" });
  const later = (ms: number, work: () => Promise<unknown>): void =>
    void world.clock.schedule(ms, () => void work().catch(ignoreGone));
  world.server.onChange(({ resource, object, previous, gone }) => {
    if (resource.plural !== "pods" || gone) return;
    const pod = object as Pod;
    const uid = pod.metadata?.uid ?? "";
    const patch = { type: "merge", body: { status: runningPod }, preconditions: { uid } } as const;
    if (previous === undefined)
      later(random() * 2_000, () => world.user.patch(pods, key(pod), patch, { subresource: "status" }));
    const isMarked =
      pod.metadata?.deletionTimestamp !== undefined && previous?.metadata?.deletionTimestamp === undefined;
    const now = { gracePeriodSeconds: 0, preconditions: { uid } };
    if (isMarked) later(random() * 1_000, () => world.user.delete(pods, key(pod), now));
  });
}

function ignoreGone(error: unknown): void {
  if (!isReason(error, "NotFound", "Conflict")) throw error;
}

/** A living, not terminating Pod for each Sandbox, at most: looked at after every change. */
function watchForTwins(world: SandboxWorld): string[] {
  const twins: string[] = [];
  world.server.onChange(({ resource }) => {
    if (resource.plural !== "pods") return;
    const alive = world.server.readAll(pods).filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
    const owners = alive.map(({ metadata }) => metadata?.ownerReferences?.[0]?.uid);
    twins.push(...owners.filter((uid, index): uid is string => owners.indexOf(uid) !== index));
  });
  return twins;
}

function faults(random: () => number): Fault | undefined {
  const draw = random();
  if (draw < 0.05) return { refuse: { reason: "InternalError" } };
  if (draw < 0.1) return { refuse: { reason: "TooManyRequests", retryAfterSeconds: 1 } };
  if (draw < 0.12) return { reset: "before" };
  if (draw < 0.14) return { reset: "after" };
  if (draw < 0.2) return { refuse: { reason: "Conflict" } };
  return undefined;
}

/** What somebody does to one of the Sandboxes. */
async function disturb(world: SandboxWorld, random: () => number): Promise<void> {
  const name = `s-${Math.floor(random() * sandboxCount)}`;
  const draw = random();
  if (draw < 0.35) await world.edit({ spec: { operatingMode: "Suspended" } }, name);
  else if (draw < 0.7) await world.edit({ spec: { operatingMode: "Running" } }, name);
  else if (draw < 0.8) await world.user.delete(pods, { namespace, name }).catch(ignoreGone);
  else if (draw < 0.9) await world.podReports({ phase: "Failed", reason: "Evicted" }, name).catch(ignoreGone);
  else
    await world.edit(
      { spec: { podTemplate: { metadata: { labels: { round: String(Math.floor(draw * 1e6)) } } } } },
      name,
    );
}

function isAsAsked(world: SandboxWorld, sandbox: Sandbox): boolean {
  const pod = world.pod(sandbox.metadata.name);
  const { conditions } = sandbox.status ?? {};
  if (sandbox.spec.operatingMode === "Suspended") return pod === undefined && isConditionTrue(conditions, "Suspended");
  const labels = sandbox.spec.podTemplate.metadata?.labels ?? {};
  const isLabelled = Object.entries(labels).every(([key, value]) => pod?.metadata?.labels?.[key] === value);
  return isConditionTrue(conditions, "Ready") && isLabelled;
}

describe.for([1, 2, 3, 4])("a storm with seed %s", (seed) => {
  test.for([
    ["watches that are up to 5 s late", { late: true, faulty: false, kills: false }],
    ["an API server that fails, rejects and loses responses", { late: false, faulty: true, kills: false }],
    ["both, and a controller that is killed", { late: true, faulty: true, kills: true }],
  ] as const)(
    "reaches the desired state without duplicate Pods, with %s (RECOVER-9)",
    async ([, { late, faulty, kills }]) => {
      await using world = new SandboxWorld({ gracefulPods: true });
      const random = seededRandom(seed);
      const twins = watchForTwins(world);
      playNodes(world, random);
      if (late) world.server.watchDelayMs = () => random() * 5_000;
      const claims = [{ metadata: { name: "data" }, spec: {} }];
      for (let index = 0; index < sandboxCount; index++) {
        await world.create({ name: `s-${index}`, spec: { service: index % 3 === 0, volumeClaimTemplates: claims } });
      }
      // Only the controller suffers: the user's own requests go through.
      if (faulty) world.controllerFaults = () => faults(random);
      for (let round = 0; round < 60; round++) {
        await world.clock.advance(random() * 3_000);
        await disturb(world, random);
        if (kills && round % 10 === 9) world.kill();
      }
      world.controllerFaults = undefined;
      world.server.watchDelayMs = undefined;
      await world.clock.advance(600_000);
      const all = world.server.readAll(sandboxes);
      expect(
        all.filter((sandbox) => !isAsAsked(world, sandbox)).map(({ metadata, status }) => ({ metadata, status })),
      ).toEqual([]);
      expect(twins).toEqual([]);
      expect(await world.attemptsDuring(() => world.clock.advance(600_000))).toEqual({});
    },
  );
});

describe.for([1, 2, 3, 4])("a storm over Sandboxes with depth Memory, with seed %s", (seed) => {
  test("loses no memory, with late watches, failing requests and a controller that is killed (STATE-28)", async () => {
    await using world = new SandboxWorld({ gracefulPods: true, keepRootFilesystem: true });
    const random = seededRandom(seed);
    const twins = watchForTwins(world);
    const driver = new StateDriver(world);
    driver.delayMs = () => random() * 2_000;
    world.server.watchDelayMs = () => random() * 5_000;
    world.controllerFaults = () => faults(random);
    const suspendPolicy = { depth: "Memory" } as const;
    for (let index = 0; index < sandboxCount; index++)
      await world.create({ name: `s-${index}`, spec: { suspendPolicy } });
    for (let round = 0; round < 80; round++) {
      await world.clock.advance(random() * 3_000);
      const operatingMode = random() < 0.5 ? "Suspended" : "Running";
      await world.edit({ spec: { operatingMode } }, `s-${Math.floor(random() * sandboxCount)}`);
      if (round % 10 === 9) world.kill();
    }
    world.controllerFaults = undefined;
    world.server.watchDelayMs = undefined;
    await world.clock.advance(600_000);
    for (let index = 0; index < sandboxCount; index++) {
      await world.edit({ spec: { operatingMode: "Running" } }, `s-${index}`);
    }
    await world.clock.advance(600_000);
    const all = world.server.readAll(sandboxes);
    expect(all.filter((sandbox) => !isAsAsked(world, sandbox)).map(({ status }) => status)).toEqual([]);
    expect({ losses: driver.losses, twins }).toEqual({ losses: [], twins: [] });
    const lives = all.map(({ metadata }) => driver.running.get(world.pod(metadata.name)?.metadata?.uid ?? "")?.lives);
    expect(lives).toEqual(all.map(({ status }) => (status?.suspension?.epoch ?? 0) + 1));
    expect(lives.some((count) => (count ?? 0) > 2)).toBe(true);
    expect(await world.attemptsDuring(() => world.clock.advance(600_000))).toEqual({});
  });
});

describe("a controller killed after one write", () => {
  /** A life with everything in it, killed after the given write of the controller; 0: never. Returns how it ended. */
  async function live(killAfter: number): Promise<{ end: unknown; writes: number }> {
    await using world = new SandboxWorld({
      gracefulPods: true,
      runtime: { image: "sandboxd", delivery: "ImageVolume" },
    });
    playNodes(world, () => 0.5);
    let writes = 0;
    world.controllerFaults = ({ verb }) => {
      if (["get", "list", "watch"].includes(verb) || ++writes !== killAfter) return undefined;
      queueMicrotask(() => world.kill());
      return { reset: "after" };
    };
    const claims = [{ metadata: { name: "data" }, spec: {} }];
    await world.create({ spec: { service: true, runtime: "Injected", volumeClaimTemplates: claims } });
    await world.clock.advance(60_000);
    await world.setMode("Suspended");
    await world.clock.advance(60_000);
    await world.setMode("Running");
    await world.clock.advance(60_000);
    await world.podReports({ phase: "Failed", reason: "Evicted" });
    await world.clock.advance(60_000);
    return { end: stateOf(world), writes };
  }

  /** The final state, without what differs between runs, such as the count of failed Pods, which a kill can reset. */
  function stateOf(world: SandboxWorld): unknown {
    const all = {
      sandbox: world.sandbox(),
      pod: world.pod(),
      service: world.service(),
      claim: world.volumeClaim("data-my-sandbox"),
    };
    const changing = new Set([
      "uid",
      "resourceVersion",
      "creationTimestamp",
      "lastTransitionTime",
      "generation",
      restartCountAnnotation,
    ]);
    const text = JSON.stringify(all, (key, value: unknown) => (changing.has(key) ? undefined : value));
    return { ...(JSON.parse(text) as object), pods: world.server.readAll(pods).length };
  }

  test("loses no memory, whichever write it was (STATE-28)", async () => {
    const cycle = async (killAfter: number): Promise<{ end: unknown; writes: number }> => {
      await using world = new SandboxWorld({ gracefulPods: true, keepRootFilesystem: true });
      const driver = new StateDriver(world);
      let writes = 0;
      world.controllerFaults = ({ verb }) => {
        if (["get", "list", "watch"].includes(verb) || ++writes !== killAfter) return undefined;
        queueMicrotask(() => world.kill());
        return { reset: "after" };
      };
      await world.create({ spec: { suspendPolicy: { depth: "Memory" } } });
      for (const mode of ["Running", "Suspended", "Running", "Suspended", "Running"] as const) {
        await world.setMode(mode);
        await world.clock.advance(60_000);
      }
      const { depth, epoch, restored } = world.sandbox()?.status?.suspension ?? {};
      const lives = driver.running.get(world.pod()?.metadata?.uid ?? "")?.lives;
      return { end: { depth, epoch, restored, lives, losses: driver.losses }, writes };
    };
    const { end, writes } = await cycle(0);
    expect(end).toEqual({ depth: "Memory", epoch: 2, restored: "Memory", lives: 3, losses: [] });
    expect(writes).toBeGreaterThan(15);
    for (let killAfter = 1; killAfter <= writes; killAfter++) {
      expect({ killAfter, end: (await cycle(killAfter)).end }).toEqual({ killAfter, end });
    }
  });

  test("ends with the same objects, whichever write it was (RECOVER-10)", async () => {
    const { end, writes } = await live(0);
    expect(end).toMatchObject({ pods: 1, sandbox: { status: { podIPs: ["10.0.0.2"], service: "my-sandbox" } } });
    expect(writes).toBeGreaterThan(12);
    for (let killAfter = 1; killAfter <= writes; killAfter++) {
      const killed = await live(killAfter);
      expect({ killAfter, end: killed.end }).toEqual({ killAfter, end });
    }
  });
});
