import { sandboxClaims, sandboxTemplates } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inDefault, isTransfer, RacingWorld } from "./racing-world.test.support.ts";

describe("members of claims that cannot take them", () => {
  let world: RacingWorld;
  beforeEach(async () => {
    world = await RacingWorld.start();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("releases the member of a claim that contradicts its template (CLAIM-48)", async () => {
    const labels = { "sandbox.users.io/x": "template" };
    const body = { spec: { podTemplate: { metadata: { labels } } } };
    await world.user.patch(sandboxTemplates, inDefault("test-template"), { type: "merge", body });
    await world.settled();
    for (const name of ["one", "two", "three"]) {
      await world.claim(name, { additionalPodMetadata: { labels: { "sandbox.users.io/x": "claim" } } });
    }
    await world.clock.advance(1_000);
    expect(world.ready("three")?.reason).toBe("ReconcilerError");
    for (const name of ["a", "b", "c"]) await world.claim(name);
    await world.clock.advance(1_000);
    const names = ["a", "b", "c"].map((name) => world.read(name)?.status?.sandbox?.name);
    expect(names.every((name) => name?.startsWith("pool-"))).toBe(true);
  });

  test("releases the member of a claim that is deleted (CLAIM-48)", async () => {
    world.intercept(isTransfer, (nth) => (nth < 4 ? { refuse: { reason: "InternalError" } } : undefined));
    await world.claim("one");
    await world.clock.advance(5);
    await world.user.delete(sandboxClaims, inDefault("one"));
    await world.settled();
    for (const name of ["a", "b", "c"]) await world.claim(name);
    await world.clock.advance(1_000);
    const names = ["a", "b", "c"].map((name) => world.read(name)?.status?.sandbox?.name);
    expect(names.every((name) => name?.startsWith("pool-"))).toBe(true);
  });

  test("releases the member of a claim that becomes invalid (CLAIM-48)", async () => {
    world.intercept(isTransfer, () => ({ refuse: { reason: "InternalError" } }));
    await world.claim("one");
    await world.clock.advance(5);
    const body = { spec: { additionalPodMetadata: { labels: { plain: "not allowed" } } } };
    await world.user.patch(sandboxClaims, inDefault("one"), { type: "merge", body });
    await world.clock.advance(5_000);
    world.server.onRequest = undefined;
    for (const name of ["a", "b", "c"]) await world.claim(name);
    await world.clock.advance(1_000);
    expect(world.ready("one")?.reason).toBe("InvalidMetadata");
    const names = ["a", "b", "c"].map((name) => world.read(name)?.status?.sandbox?.name);
    expect(names.every((name) => name?.startsWith("pool-"))).toBe(true);
  });
});
