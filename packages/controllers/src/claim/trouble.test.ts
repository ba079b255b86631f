import { sandboxes, sandboxWarmPools } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { pods } from "../child-caches.ts";
import { ClaimWorld } from "./claim-world.test.support.ts";

test("claims and pools repeat within seconds what is wrong with a Pod (CLAIM-60, POOL-54)", async () => {
  await using world = new ClaimWorld();
  world.startAll();
  await world.template();
  await world.pool({ replicas: 1 });
  await world.clock.advance(3_000);
  await world.claim("one");
  await world.clock.advance(3_000);
  const waiting = { reason: "ErrImagePull", message: "not found" };
  const containerStatuses = [{ name: "c", image: "x", ready: false, state: { waiting } }];
  const body = { status: { phase: "Pending", containerStatuses } };
  for (const { metadata } of world.server.readAll(pods)) {
    const place = { namespace: "default", name: metadata?.name ?? "" };
    await world.user.patch(pods, place, { type: "merge", body }, { subresource: "status" });
  }
  await world.clock.advance(1_500);
  const message = 'Pod exists with phase: Pending; container "c": cannot pull image "x": not found';
  expect(world.server.readAll(sandboxes).length).toBeGreaterThan(1);
  expect(world.ready("one")).toMatchObject({ status: "False", reason: "DependenciesNotReady", message });
  const pool = world.server.read(sandboxWarmPools, { namespace: "default", name: "pool" });
  expect(pool?.status?.conditions?.find(({ type }) => type === "Ready")?.message).toBe(
    'Not all members are Ready yet; container "c": cannot pull image "x": not found',
  );
});
