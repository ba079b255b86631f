import { type SandboxSnapshotStatus, sandboxSnapshots } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { condition } from "../extensions.test.support.ts";
import { namespace, SandboxWorld } from "./sandbox-world.test.support.ts";
import { driverAnnotations, StateDriver } from "./state-driver.test.support.ts";

test("a controller that starts between suspension and resume waits for the list of Pod snapshots (STATE-33)", async () => {
  await using world = new SandboxWorld({ gracefulPods: true, keepRootFilesystem: true, podSnapshots: true });
  const driver = new StateDriver(world);
  await world.create({});
  await world.settle(2_000);
  const place = { namespace, name: "s" };
  const { uid: sourceUID = "" } = world.sandbox()?.metadata ?? {};
  // The UID of an object that exists, so that the owner is not taken for one that is gone.
  const view = {
    apiVersion: "podsnapshot.gke.io/v1",
    kind: "PodSnapshot",
    name: "s",
    uid: sourceUID,
    controller: true,
  };
  const { metadata } = await world.user.create(sandboxSnapshots, {
    apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
    kind: "SandboxSnapshot",
    metadata: { ...place, ownerReferences: [view] },
    spec: { sandboxRef: { name: "my-sandbox" } },
  });
  const status: SandboxSnapshotStatus = {
    conditions: [condition("Ready", "True", "Complete")],
    depth: "Memory",
    epoch: 0,
    createdAt: "2026-01-01T00:00:00Z",
    sourceUID,
  };
  const patch = { type: "merge", body: { status } } as const;
  await world.user.patch(sandboxSnapshots, place, patch, { subresource: "status" });
  driver.snapshots.set(metadata.uid ?? "", { lives: 1 });
  await world.setMode("Suspended");
  await world.settle(5_000);

  world.controllerFaults = ({ resource }) =>
    resource.plural === sandboxSnapshots.plural ? { delayMs: 5_000 } : undefined;
  world.kill();
  await world.setMode("Running");
  await world.settle(20_000);
  expect(driverAnnotations(world.pod())).toMatchObject({ restore: `snapshot/${metadata.uid}` });
});
