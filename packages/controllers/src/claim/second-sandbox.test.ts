import { controllerReference, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimOf } from "../extensions.test.support.ts";
import { Ledger } from "./ledger.test.support.ts";
import { inDefault, RacingWorld } from "./racing-world.test.support.ts";

describe("claims with a second Sandbox", () => {
  let world: RacingWorld;
  beforeEach(async () => {
    world = await RacingWorld.start();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("deletes a second Sandbox that another process bound, and keeps the claim Ready (CLAIM-49)", async () => {
    await world.claim("one");
    await world.settled();
    const ledger = new Ledger();
    world.server.onChange((change) => ledger.read(change));
    const { status, metadata } = world.read("one") ?? claimOf();
    const [free] = world.members();
    const { uid = "", name = "" } = metadata;
    const owner = {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      name,
      uid,
      controller: true,
    };
    await world.user.patch(sandboxes, inDefault(free?.metadata.name ?? ""), {
      type: "merge",
      body: { metadata: { ownerReferences: [owner], labels: { "agents.x-k8s.io/warm-pool-sandbox": null } } },
    });
    await world.settled();
    world.expectBoundOnce("one");
    expect([world.read("one")?.status?.sandbox, ledger.broken]).toEqual([status?.sandbox, []]);
  });

  test("deletes no second Sandbox while its cached claim is out of date (CLAIM-49)", async () => {
    await world.claim("one");
    await world.settled();
    const first = world.read("one")?.status?.sandbox?.name ?? "";
    const second = world.members()[0]?.metadata.name ?? "";
    const owner = { ...controllerReference(sandboxClaims, world.read("one") ?? claimOf()) };
    // Another process has written the second Sandbox to the status. The watch of this process has not reported it yet.
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxclaims" ? 10_000 : 0);
    await world.user.patch(
      sandboxClaims,
      inDefault("one"),
      { type: "merge", body: { status: { sandbox: { name: second } } } },
      { subresource: "status" },
    );
    const deletes = world.intercept(
      ({ verb, resource }) => verb === "delete" && resource.plural === "sandboxes",
      () => undefined,
    );
    const body = { metadata: { ownerReferences: [owner], labels: { "agents.x-k8s.io/warm-pool-sandbox": null } } };
    await world.user.patch(sandboxes, inDefault(second), { type: "merge", body });
    await world.clock.advance(5_000);
    expect(deletes()).toBe(0);
    await world.settled();
    expect(world.owned(world.read("one")).map(({ metadata }) => metadata.name)).toEqual([second]);
    expect(world.server.read(sandboxes, inDefault(first))).toBeUndefined();
  });

  test("binds each claim to one Sandbox when two processes run at once (CLAIM-51)", async () => {
    const ledger = new Ledger();
    world.server.onChange((change) => ledger.read(change));
    const second = new AsyncDisposableStack();
    world.secondProcess(second);
    await world.settled();
    const names = Array.from({ length: 6 }, (_, n) => `c${n}`);
    for (const name of names) await world.claim(name);
    await world.settled();
    await second.disposeAsync();
    await world.settled();
    for (const name of names) world.expectBoundOnce(name);
    expect(new Set(names.map((name) => world.read(name)?.status?.sandbox?.name)).size).toBe(6);
    expect([world.members().length, ledger.broken]).toEqual([3, []]);
  });
});
