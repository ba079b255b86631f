import { sandboxClaims, sandboxTemplates } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { volumeClaims } from "../child-caches.ts";
import { ClaimWorld } from "./claim-world.test.support.ts";

/** The user's own writes and those that stand in for the kubelet do not count. */
const foreign = ["create sandboxclaims", "patch pods/status"];
const total = (writes: Readonly<Record<string, number>>) =>
  Object.entries(writes).reduce((sum, [what, count]) => sum + (foreign.includes(what) ? 0 : count), 0);

describe("writes per claim, with all controllers running", () => {
  let world: ClaimWorld;
  let passes = 0;
  let startsIn = 0;
  beforeEach(async () => {
    world = new ClaimWorld();
    startsIn = 1_200;
    world.runPods({ afterMs: () => startsIn });
    world.startAll({ metrics: { reconciled: () => (passes += 1) } });
    await world.template();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("serves a claim from the pool in two sequential writes and one reconcile (COST-6, COST-11)", async () => {
    await world.pool();
    await world.clock.advance(60_000);
    passes = 0;
    const untilReady: string[] = [];
    world.server.onChange(({ resource }) => {
      if (world.ready("one") === undefined) untilReady.push(resource.plural);
    });
    await world.claim("one");
    await world.clock.runUntil(() => world.ready("one")?.status === "True");
    // The claim itself, the transfer with the record, and then the status that says Ready.
    expect(untilReady.slice(0, 3).sort()).toEqual(["sandboxclaims", "sandboxclaims", "sandboxes"]);
    expect(world.since({})["patch sandboxclaims/status"]).toBe(1);
    await world.clock.advance(60_000);
    expect(passes).toBe(1);
  });

  /** The transfer, the record, the status, and what the Sandbox controller makes of the change. */
  const claiming = {
    "patch sandboxes": 1,
    "patch sandboxclaims": 1,
    "patch sandboxclaims/status": 1,
    "patch pods": 1,
  };
  /** The new member, which is reported when it is Ready, and the counts of the pool without and with it. */
  const refilling = {
    "create sandboxes": 1,
    "create pods": 1,
    "patch sandboxes/status": 1,
    "patch sandboxwarmpools/status": 2,
  };
  const standing = { "create sandboxclaims": 1, "patch pods/status": 1 };

  test.for([
    ["4 writes, and 5 for the refill", {}, claiming, 4],
    [
      "5 writes with Pod metadata, which changes the Sandbox's generation",
      { additionalPodMetadata: { annotations: { note: "x" } } },
      { ...claiming, "patch sandboxes/status": 1 },
      5,
    ],
  ] as const)("serves a claim from the pool with %s (COST-6)", async ([, spec, expected, most]) => {
    await world.pool();
    await world.clock.advance(60_000);
    const before = world.writes();
    await world.claim("one", spec);
    await world.clock.advance(60_000);
    const spent = world.since(before);
    expect(spent).toEqual({
      ...standing,
      ...refilling,
      ...expected,
      "patch sandboxes/status": 1 + ("patch sandboxes/status" in expected ? 1 : 0),
    });
    expect(total(expected)).toBe(most);
    expect(total(spent) - total(expected)).toBeLessThanOrEqual(5);
  });

  test.for([
    ["7 writes", 9_000, 7],
    ["8 writes when the Pod takes longer than ten seconds", 12_000, 8],
  ] as const)("serves a claim by a new Sandbox with %s (COST-7)", async ([, afterMs, expected]) => {
    await world.pool({ replicas: 0 });
    await world.clock.advance(60_000);
    startsIn = afterMs;
    const before = world.writes();
    await world.claim("one");
    await world.clock.advance(60_000);
    expect(world.ready("one")?.status).toBe("True");
    expect(total(world.since(before))).toBe(expected);
  });

  test("reports within a second why a new Sandbox cannot start (CLAIM-59)", async () => {
    const podTemplate = { spec: { containers: [{ name: "c", image: "host" }] } };
    const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: {} }];
    await world.user.create(volumeClaims, { metadata: { name: "data-one", namespace: "default" } });
    await world.user.patch(
      sandboxTemplates,
      { namespace: "default", name: "test-template" },
      { type: "merge", body: { spec: { podTemplate, volumeClaimTemplates } } },
    );
    startsIn = 60_000;
    await world.pool({ replicas: 0 });
    await world.clock.advance(60_000);
    await world.claim("one");
    await world.clock.advance(1_500);
    expect(world.ready("one")).toMatchObject({ reason: "ReconcilerError" });
  });

  test("writes nothing for settled claims, also after a restart (COST-5)", async () => {
    await world.endProcess();
    world.startAll();
    await world.pool({ replicas: 5 });
    for (let n = 0; n < 10; n++) await world.claim(`c${n}`);
    await world.clock.advance(120_000);
    expect(
      world.server.readAll(sandboxClaims).every(({ metadata }) => world.ready(metadata.name ?? "")?.status === "True"),
    ).toBe(true);
    const before = world.writes();
    await world.clock.advance(12 * 3_600_000);
    expect(world.since(before)).toEqual({});
    await world.endProcess();
    world.startAll();
    await world.clock.advance(12 * 3_600_000);
    expect(world.since(before)).toEqual({});
  });
});
