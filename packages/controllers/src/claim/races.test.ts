import { sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from "@agent-sandbox/api";
import type { ApiCall } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inDefault, isClaimStatus, isTransfer, RacingWorld } from "./racing-world.test.support.ts";

const isClaimChange = ({ verb, resource, subresource }: ApiCall): boolean =>
  verb === "patch" && resource.plural === "sandboxclaims" && subresource === undefined;

describe("concurrent writes to claims and Sandboxes", () => {
  let world: RacingWorld;
  beforeEach(async () => {
    world = await RacingWorld.start();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const touch = (name: string) =>
    world.user.patch(sandboxes, inDefault(name), {
      type: "merge",
      body: { metadata: { annotations: { touched: "yes" } } },
    });

  const reference = "agents.x-k8s.io/sandbox-name";
  const referenceOf = (claim: string) => world.read(claim)?.metadata.annotations?.[reference];
  const boundOf = (claim: string) => world.read(claim)?.status?.sandbox?.name;

  test("writes the record at the same time as the transfer (CLAIM-32)", async () => {
    const sent: [string, number][] = [];
    world.server.onRequest = (call) => {
      if (isTransfer(call) || isClaimChange(call) || isClaimStatus(call))
        sent.push([call.resource.plural, world.clock.now()]);
      return { delayMs: 5 };
    };
    const from = world.clock.now();
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    const [first = 0] = sent.map(([, at]) => at);
    expect(first).toBeGreaterThanOrEqual(from);
    expect(sent.map(([plural, at]) => [plural, at - first])).toEqual([
      ["sandboxes", 0],
      ["sandboxclaims", 0],
      ["sandboxclaims", 5],
    ]);
  });

  test("names the member that the claim got after the first one was taken by somebody else (CLAIM-61)", async () => {
    let taken: string | undefined;
    world.server.onRequest = (call) => {
      if (!isTransfer(call) || taken !== undefined) return undefined;
      taken = call.name ?? "";
      void world.user.delete(sandboxes, inDefault(taken));
      return { delayMs: 5 };
    };
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    expect(world.read("one")?.status?.sandbox?.name).not.toBe(taken);
    expect(referenceOf("one")).toBe(boundOf("one"));
  });

  test("is Ready once, with its record, when the claim is edited during the transfer (CLAIM-61)", async () => {
    const records: (string | undefined)[] = [];
    world.server.onChange(({ resource, object }) => {
      if (resource.plural === "sandboxclaims" && world.ready("one")?.status === "True")
        records.push(object.metadata?.annotations?.[reference]);
    });
    const refused = world.intercept(isClaimChange, (nth) => {
      if (nth > 0) return undefined;
      void world.user.patch(sandboxClaims, inDefault("one"), {
        type: "merge",
        body: { metadata: { labels: { a: "b" } } },
      });
      return { delayMs: 5 };
    });
    const transfers: string[] = [];
    world.server.onChange(({ resource, object }) => {
      if (resource.plural === "sandboxes" && object.metadata?.ownerReferences?.[0]?.kind === "SandboxClaim")
        transfers.push(object.metadata.name ?? "");
    });
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    expect([refused(), new Set(transfers).size]).toEqual([2, 1]);
    expect(records.length).toBeGreaterThan(0);
    expect(new Set(records)).toEqual(new Set([world.read("one")?.status?.sandbox?.name]));
    expect(world.read("one")?.metadata.labels).toEqual({ a: "b" });
  });

  test("is Ready although its record is refused for good, and retries it (CLAIM-61)", async () => {
    const tried = world.intercept(isClaimChange, () => ({ refuse: { reason: "Forbidden" } }));
    await world.claim("one");
    await world.clock.advance(2_000);
    world.expectBoundOnce("one");
    expect(tried()).toBeGreaterThan(1);
    world.server.onRequest = undefined;
    await world.clock.advance(120_000);
    expect(referenceOf("one")).toBe(boundOf("one"));
  });

  test("repeats a transfer after a conflict once, on the same member (CLAIM-33)", async () => {
    const tried: (string | undefined)[] = [];
    world.intercept(isTransfer, (nth, { name }) => {
      tried.push(name);
      return nth === 0 ? { refuse: { reason: "Conflict" } } : undefined;
    });
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    expect([tried.length, new Set(tried).size]).toEqual([2, 1]);
  });

  test("keeps the change of another writer when it repeats a transfer (CLAIM-33)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 700 : 0);
    for (const member of world.members()) await touch(member.metadata.name ?? "");
    const transfers = world.intercept(isTransfer, () => undefined);
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    const [owned] = world.owned(world.read("one"));
    expect([transfers(), owned?.metadata.annotations?.["touched"]]).toEqual([2, "yes"]);
  });

  test("adopts one member after conflicts on the transfer and on the status (CLAIM-34)", async () => {
    let statuses = 0;
    let transfers = 0;
    world.server.onRequest = (call) => {
      if (isTransfer(call) && transfers++ === 0) return { refuse: { reason: "Conflict" } };
      return isClaimStatus(call) && statuses++ === 0 ? { refuse: { reason: "Conflict" } } : undefined;
    };
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    expect([transfers, statuses]).toEqual([2, 2]);
  });

  test("does not repeat a transfer while the cache shows the old owner (CLAIM-35)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 5_000 : 0);
    const transfers = world.intercept(isTransfer, () => undefined);
    await world.claim("one");
    await world.clock.runUntil(() => world.ready("one")?.status === "True");
    for (let n = 0; n < 3; n++) {
      await world.user.patch(sandboxClaims, inDefault("one"), {
        type: "merge",
        body: { metadata: { labels: { n: `${n}` } } },
      });
      await world.clock.advance(200);
    }
    await world.settled();
    world.expectBoundOnce("one");
    expect(transfers()).toBe(1);
  });

  test("takes another member when the referenced Sandbox is gone (CLAIM-36)", async () => {
    const [first] = world.members();
    const name = first?.metadata.name ?? "";
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 5_000 : 0);
    await world.user.delete(sandboxes, inDefault(name));
    const transfers = world.intercept(isTransfer, () => undefined);
    const told = new Set<string | undefined>();
    world.server.onChange(() => told.add(world.ready("one")?.reason));
    await world.claim("one", {}, { annotations: { "agents.x-k8s.io/sandbox-name": name } });
    await world.settled();
    world.expectBoundOnce("one");
    expect(transfers()).toBe(2);
    expect([...told]).toEqual([undefined, "DependenciesReady"]);
    expect(referenceOf("one")).toBe(boundOf("one"));
  });

  test("reports repeated conflicts as AdoptionConflict and keeps the member reserved (CLAIM-37)", async () => {
    const tried = new Set<string | undefined>();
    let refuses = true;
    world.server.onRequest = (call) => {
      if (!isTransfer(call)) return undefined;
      tried.add(call.name);
      return refuses ? { refuse: { reason: "Conflict" } } : undefined;
    };
    await world.claim("one");
    await world.clock.advance(2_000);
    expect(world.ready("one")).toMatchObject({ status: "False", reason: "AdoptionConflict" });
    expect(world.ready("one")?.message).toMatch(/a concurrent write came first/);
    expect(world.ready("one")?.message).not.toMatch(/the test refuses/);
    refuses = false;
    await world.settled();
    world.expectBoundOnce("one");
    expect(tried.size).toBe(1);
  });

  test("removes a stale reference in a later reconcile when the first attempt fails (CLAIM-38)", async () => {
    world.intercept(isClaimChange, (nth) => (nth === 0 ? { refuse: { reason: "InternalError" } } : undefined));
    await world.claim("one", {}, { annotations: { "agents.x-k8s.io/sandbox-name": "nobody" } });
    await world.settled();
    world.expectBoundOnce("one");
    expect(referenceOf("one")).toBe(boundOf("one"));
  });

  test("computes a status again after a conflict and counts the claim once (CLAIM-41)", async () => {
    await world.endProcess();
    let started = 0;
    world.startAll({ metrics: { started: () => (started += 1) } });
    await world.settled();
    const refused: number[] = [];
    world.intercept(isClaimStatus, (nth) => {
      refused.push(started);
      return nth === 0 ? { refuse: { reason: "Conflict" } } : undefined;
    });
    await world.claim("one");
    await world.settled();
    world.expectBoundOnce("one");
    expect([refused, started]).toEqual([[0, 0], 1]);
  });

  test("keeps the claim Ready while its Sandbox cannot be patched (CLAIM-42)", async () => {
    await world.claim("one");
    await world.settled();
    world.intercept(isTransfer, () => ({ refuse: { reason: "InternalError" } }));
    const additionalPodMetadata = { labels: { "sandbox.users.io/a": "b" } };
    await world.user.patch(sandboxClaims, inDefault("one"), {
      type: "merge",
      body: { spec: { additionalPodMetadata } },
    });
    await world.clock.advance(5_000);
    world.expectBoundOnce("one");
    world.server.onRequest = undefined;
    await world.settled();
    await world.settled();
    const [owned] = world.owned(world.read("one"));
    expect(owned?.spec.podTemplate.metadata?.labels).toMatchObject(additionalPodMetadata.labels);
  });

  test("writes the status only to the version it was computed from (CLAIM-43)", async () => {
    const bodies: unknown[] = [];
    const expected: unknown[] = [];
    world.intercept(isClaimStatus, (_, { body }) => {
      bodies.push(body);
      const { uid, resourceVersion } = world.read("one")?.metadata ?? {};
      expected.push({ metadata: { uid, resourceVersion } });
    });
    await world.claim("one");
    await world.settled();
    expect(bodies).toHaveLength(1);
    expect(bodies).toMatchObject(expected);
  });

  test("triggers rejected claims when their template is corrected, and waiting claims when it is created (CLAIM-45)", async () => {
    await world.claim("env", { env: [{ name: "A", value: "1" }] });
    await world.claim("elsewhere", { warmPoolRef: { name: "later" } });
    await world.settled();
    expect([world.ready("env")?.reason, world.ready("elsewhere")?.reason]).toEqual([
      "EnvVarsInjectionRejected",
      "WarmPoolNotFound",
    ]);
    await world.user.patch(sandboxTemplates, inDefault("test-template"), {
      type: "merge",
      body: { spec: { envVarsInjectionPolicy: "Allowed" } },
    });
    const pool = { replicas: 0, sandboxTemplateRef: { name: "later" } };
    const { metadata: _, ...template } = world.server.readAll(sandboxTemplates)[0] ?? { metadata: {} };
    await world.user.create(sandboxWarmPools, {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxWarmPool",
      metadata: { name: "later", namespace: "default" },
      spec: pool,
    });
    await world.settled();
    world.expectBoundOnce("env");
    expect(world.ready("elsewhere")?.reason).toBe("TemplateNotFound");
    await world.user.create(sandboxTemplates, {
      ...template,
      metadata: { name: "later", namespace: "default" },
    } as never);
    await world.settled();
    world.expectBoundOnce("elsewhere");
  });

  test("does not trigger bound claims for changes of pool or template (CLAIM-46)", async () => {
    await world.claim("one");
    await world.settled();
    await world.endProcess();
    let passes = 0;
    world.startAll({ metrics: { reconciled: () => (passes += 1) } });
    await world.settled();
    passes = 0;
    const body = { spec: { podTemplate: { metadata: { labels: { a: "b" } } } } };
    await world.user.patch(sandboxTemplates, inDefault("test-template"), { type: "merge", body });
    await world.user.patch(sandboxWarmPools, inDefault("pool"), { type: "merge", body: { spec: { replicas: 5 } } });
    await world.settled();
    expect(passes).toBe(0);
  });

  test("does not delete a claim whose end is moved during the delete (EXPIRE-20)", async () => {
    const shutdownTime = new Date(world.clock.date() + 60_000).toISOString();
    await world.claim("one", { lifecycle: { shutdownTime, shutdownPolicy: "Delete" } });
    await world.settled();
    const tries = world.intercept(
      ({ verb, resource }) => verb === "delete" && resource.plural === "sandboxclaims",
      () => {
        void world.user.patch(sandboxClaims, inDefault("one"), { type: "merge", body: { spec: { lifecycle: null } } });
        return { delayMs: 5 };
      },
    );
    await world.clock.advance(60_000);
    expect(tries()).toBe(1);
    world.expectBoundOnce("one");
  });

  test("ends a claim by the API server's clock (EXPIRE-1)", async () => {
    await world.endProcess();
    const { clock } = world;
    const ahead = { now: () => clock.now(), sleep: clock.sleep.bind(clock), schedule: clock.schedule.bind(clock) };
    world.startClaims({ scheduler: { ...ahead, date: () => clock.date() + 10 * 365 * 86_400_000 } });
    await world.settled();
    const shutdownTime = new Date(clock.date() + 60_000).toISOString();
    await world.claim("one", { lifecycle: { shutdownTime, shutdownPolicy: "Delete" } });
    await world.clock.advance(58_000);
    world.expectBoundOnce("one");
    await world.clock.advance(4_000);
    expect(world.read("one")).toBeUndefined();
  });
});
