import {
  type Condition,
  type PodSnapshotManualTrigger,
  podSnapshots,
  podSnapshotTriggers,
  sandboxes,
  sandboxSnapshots,
} from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { startSandboxController } from "../sandbox/controller.ts";
import { World } from "../world.test.support.ts";
import { startPodSnapshotControllers } from "./controller.ts";

const namespace = "default";
const place = { namespace, name: "ask" };

function trigger(targetPod: string): PodSnapshotManualTrigger {
  return {
    apiVersion: "podsnapshot.gke.io/v1",
    kind: "PodSnapshotManualTrigger",
    metadata: { namespace, name: "ask" },
    spec: { targetPod },
  };
}
const condition = (type: string, status: Condition["status"], reason: string, message = ""): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-01-02T03:04:05Z",
});

describe("the controllers of Pod snapshots", () => {
  let world: World;
  let sandboxUid: string;
  beforeEach(async () => {
    world = new World();
    for (const controller of startPodSnapshotControllers(world.context)) world.start(controller);
    const podTemplate = { spec: { containers: [{ name: "c", image: "host" }] } };
    const made = await world.user.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { namespace, name: "box" },
      spec: { podTemplate },
    });
    sandboxUid = made.metadata.uid ?? "";
    await createPod("box", sandboxUid);
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  async function createPod(name: string, uid: string): Promise<void> {
    const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "box", uid, controller: true };
    await world.user.create(pods, {
      metadata: { namespace, name, ownerReferences: [owner] },
      spec: { containers: [] },
    });
  }
  const settled = () => world.clock.advance(1000);

  async function ask(targetPod: string): Promise<{ namespace: string; name: string }> {
    const { metadata } = await world.user.create(podSnapshotTriggers, trigger(targetPod));
    await settled();
    return { namespace, name: metadata.uid ?? "" };
  }
  const answer = () => world.server.read(podSnapshotTriggers, place)?.status;

  async function report(name: { namespace: string; name: string }, ...conditions: Condition[]): Promise<void> {
    const patch = { type: "merge", body: { status: { conditions } } } as const;
    await world.user.patch(sandboxSnapshots, name, patch, { subresource: "status" });
    await settled();
  }

  test("a trigger gives a PodSnapshot with a SandboxSnapshot of depth Memory, and reports when it is complete", async () => {
    const name = await ask("box");
    const view = world.server.read(podSnapshots, name);
    expect(view?.metadata).toMatchObject({
      labels: { "agents.x-k8s.io/sandbox-name-hash": expect.stringMatching(/^[0-9a-f]{8}$/) },
      annotations: { "podsnapshot.gke.io/origin-pod": "box" },
      ownerReferences: [{ kind: "Sandbox", uid: sandboxUid }],
    });
    expect(world.server.read(sandboxSnapshots, name)).toMatchObject({
      metadata: { ownerReferences: [{ kind: "PodSnapshot", uid: view?.metadata.uid, controller: true }] },
      spec: { sandboxRef: { name: "box" }, depth: "Memory" },
    });
    expect(answer()?.conditions).toMatchObject([{ type: "Triggered", status: "Unknown" }]);

    await report(name, condition("Ready", "True", "Complete"));
    expect(answer()).toMatchObject({
      conditions: [{ type: "Triggered", status: "True", reason: "Complete" }],
      snapshotCreated: { name: name.name },
    });
    expect(world.server.read(podSnapshots, name)?.status?.conditions).toMatchObject([
      { type: "Ready", status: "True" },
    ]);
  });

  test("PodSnapshots of one Sandbox that are asked for in the same second have creation times in their order (STATE-32)", async () => {
    const made: (string | undefined)[] = [];
    for (const name of ["first", "second", "third"]) {
      const metadata = { namespace, name };
      const { uid = "" } = (await world.user.create(podSnapshotTriggers, { ...trigger("box"), metadata })).metadata;
      const isTaken = () => world.server.read(sandboxSnapshots, { namespace, name: uid }) !== undefined;
      for (let waits = 0; waits < 200 && !isTaken(); waits++) await world.clock.advance(10);
      made.push(world.server.read(podSnapshots, { namespace, name: uid })?.metadata.creationTimestamp);
    }
    expect(new Set(made.filter((time) => time !== undefined)).size).toBe(3);
    expect(made.toSorted((one, other) => (one ?? "").localeCompare(other ?? ""))).toEqual(made);
  });

  test("a trigger is complete only when its PodSnapshot is ready (STATE-34)", async () => {
    const name = await ask("box");
    const seen: string[] = [];
    world.server.onChange(({ resource, object }) => {
      const { conditions = [] } = (object as { status?: { conditions?: Condition[] } }).status ?? {};
      if (conditions[0]?.status === "True") seen.push(`${resource.plural} ${conditions[0].type}`);
    });
    await report(name, condition("Ready", "True", "Complete"));
    expect(seen).toEqual(["sandboxsnapshots Ready", "podsnapshots Ready", "podsnapshotmanualtriggers Triggered"]);
  });

  test("a snapshot that fails fails its trigger, with the reason", async () => {
    const name = await ask("box");
    await report(
      name,
      condition("Ready", "False", "RuntimeCannotSave"),
      condition("Failed", "True", "RuntimeCannotSave", "runc cannot"),
    );
    expect(answer()?.conditions).toMatchObject([
      { type: "Triggered", status: "False", reason: "Failed", message: "RuntimeCannotSave: runc cannot" },
    ]);
  });

  test.for([
    ["no such Pod", "other"],
    ["a Pod that only claims to belong to the Sandbox", "forged"],
  ] as const)("a trigger fails for %s", async ([, name]) => {
    await createPod("forged", sandboxUid);
    await ask(name);
    expect(answer()?.conditions).toMatchObject([{ type: "Triggered", status: "False", reason: "Failed" }]);
    expect(world.server.readAll(sandboxSnapshots)).toEqual([]);
  });

  test("a trigger that is done asks for nothing more, also after its snapshot is deleted", async () => {
    const name = await ask("box");
    await report(name, condition("Ready", "True", "Complete"));
    await world.user.delete(podSnapshots, name);
    await world.user.delete(sandboxSnapshots, name);
    await settled();
    expect([world.server.readAll(podSnapshots), world.server.readAll(sandboxSnapshots)]).toEqual([[], []]);
  });

  test("a PodSnapshot is deleted when its SandboxSnapshot is gone", async () => {
    const name = await ask("box");
    await report(name, condition("Ready", "True", "Complete"));
    await world.user.delete(sandboxSnapshots, name);
    await settled();
    expect(world.server.read(podSnapshots, name)).toBeUndefined();
  });

  test("a SandboxSnapshot that somebody else created under that name is not trusted", async () => {
    const name = await ask("box");
    await world.user.delete(sandboxSnapshots, name);
    await world.user.create(sandboxSnapshots, {
      apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
      kind: "SandboxSnapshot",
      metadata: name,
      spec: { sandboxRef: { name: "other" } },
    });
    await report(name, condition("Ready", "True", "Complete"));
    expect(answer()?.conditions).not.toMatchObject([{ status: "True" }]);
  });

  test("use the same cache of Pods as the Sandbox controller", () => {
    expect(() => world.start(startSandboxController(world.context))).not.toThrow();
  });
});
