import { type Sandbox, sandboxes, sandboxWarmPools } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inDefault, isClaimStatus, isTransfer, RacingWorld } from "./racing-world.test.support.ts";

describe("claims after a crash or a lost response", () => {
  let world: RacingWorld;
  beforeEach(async () => {
    world = await RacingWorld.start();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("reports no conflict when it stops during a transfer, and the next process finishes it (CLAIM-39)", async () => {
    world.intercept(isTransfer, () => ({ delayMs: 60_000 }));
    await world.claim("one");
    await world.clock.advance(10);
    const ended = world.endProcess();
    await world.clock.advance(60_000);
    await ended;
    expect(world.ready("one")).toBeUndefined();
    world.server.onRequest = undefined;
    world.startAll();
    await world.settled();
    world.expectBoundOnce("one");
  });

  test("binds to its own Sandbox when the response to the create was lost (CLAIM-40)", async () => {
    await world.user.patch(sandboxWarmPools, inDefault("pool"), { type: "merge", body: { spec: { replicas: 0 } } });
    await world.settled();
    let lost = 0;
    world.server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "sandboxes" && lost++ === 0 ? { reset: "after" } : undefined;
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    expect(lost).toBe(1);
  });

  test("reports a name that somebody else took, and serves the claim when it is free (CLAIM-40)", async () => {
    await world.user.patch(sandboxWarmPools, inDefault("pool"), { type: "merge", body: { spec: { replicas: 0 } } });
    await world.settled();
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 500 : 0);
    const spec = { podTemplate: { spec: { containers: [] } } };
    await world.user.create(sandboxes, { metadata: inDefault("one"), spec } as unknown as Sandbox);
    await world.claim("one");
    await world.clock.advance(5_000);
    expect(world.ready("one")).toMatchObject({ reason: "ReconcilerError" });
    await world.user.delete(sandboxes, inDefault("one"));
    await world.settled();
    world.expectBoundOnce("one");
  });

  test("finds the Sandbox by its owner after a crash right after the transfer (CLAIM-47)", async () => {
    world.intercept(isClaimStatus, () => ({ delayMs: 1_000_000 }));
    await world.claim("one");
    await world.clock.advance(10);
    const ended = world.endProcess();
    await world.clock.advance(60_000);
    await ended;
    expect([world.owned(world.read("one")).length, world.read("one")?.status]).toEqual([1, undefined]);
    world.server.onRequest = undefined;
    world.startAll();
    await world.settled();
    world.expectBoundOnce("one");
    expect(world.members()).toHaveLength(3);
  });

  test("does not repeat a transfer whose response was lost on another member (CLAIM-31)", async () => {
    const transfers = world.intercept(isTransfer, (nth) => (nth === 0 ? { reset: "after" } : undefined));
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    expect(transfers()).toBe(1);
  });

  test("reports nothing about a create whose response was lost before it knows the outcome (CLAIM-40)", async () => {
    const words: unknown[] = [];
    world.server.onChange(({ resource, object }) => {
      const { status } = object as { status?: { conditions?: { reason: string }[] } };
      if (resource.plural === "sandboxclaims") words.push(status?.conditions?.[0]?.reason);
    });
    world.intercept(
      ({ verb, resource }) => verb === "create" && resource.plural === "sandboxes",
      (nth) => (nth === 0 ? { reset: "before" } : undefined),
    );
    await world.user.patch(sandboxWarmPools, inDefault("pool"), { type: "merge", body: { spec: { replicas: 0 } } });
    await world.settled();
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    expect(words).not.toContain("SandboxMissing");
  });
});
