import {
  controllerReference,
  type Sandbox,
  sandboxClaims,
  sandboxes,
  sandboxTemplates,
  sandboxWarmPools,
} from "@agent-sandbox/api";
import type { ApiCall } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimOf } from "../extensions.test.support.ts";
import { ClaimWorld } from "./claim-world.test.support.ts";
import { Ledger } from "./ledger.test.support.ts";

const isTransfer = ({ verb, resource, subresource, body }: ApiCall): boolean =>
  verb === "patch" &&
  resource.plural === "sandboxes" &&
  subresource === undefined &&
  JSON.stringify(body).includes("claim-uid");
const isClaimStatus = ({ verb, resource, subresource }: ApiCall): boolean =>
  verb === "patch" && resource.plural === "sandboxclaims" && subresource === "status";
const isClaimChange = ({ verb, resource, subresource }: ApiCall): boolean =>
  verb === "patch" && resource.plural === "sandboxclaims" && subresource === undefined;
const sandboxAt = (name: string) => ({ namespace: "default", name });

describe("concurrent writes to claims and Sandboxes", () => {
  let world: ClaimWorld;
  beforeEach(async () => {
    world = new ClaimWorld();
    world.runPods();
    world.startAll();
    await world.template();
    await world.pool();
    await world.clock.advance(30_000);
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const settled = () => world.clock.advance(30_000);
  /** Counts calls, and lets the test have some of them go wrong. */
  function meddle(
    matches: (call: ApiCall) => boolean,
    then: (nth: number, call: ApiCall) => ReturnType<NonNullable<typeof world.server.onRequest>>,
  ) {
    let seen = 0;
    world.server.onRequest = (call) => (matches(call) ? then(seen++, call) : undefined);
    return () => seen;
  }
  const touch = (name: string) =>
    world.user.patch(sandboxes, sandboxAt(name), {
      type: "merge",
      body: { metadata: { annotations: { touched: "yes" } } },
    });
  const boundOnce = (name: string) => {
    const owned = world.owned(world.read(name));
    expect(owned.map(({ metadata }) => metadata.name)).toEqual([world.read(name)?.status?.sandbox?.name]);
    expect(world.ready(name)?.status).toBe("True");
  };

  test("writes nothing to the claim before it owns its Sandbox (CLAIM-32)", async () => {
    const changes = meddle(isClaimChange, () => undefined);
    await world.claim("one");
    await settled();
    boundOnce("one");
    expect([changes(), world.read("one")?.metadata.annotations]).toEqual([0, undefined]);
  });

  test("repeats a transfer after a conflict once, on the same member (CLAIM-33)", async () => {
    const tried: (string | undefined)[] = [];
    meddle(isTransfer, (nth, { name }) => {
      tried.push(name);
      return nth === 0 ? { refuse: { reason: "Conflict" } } : undefined;
    });
    await world.claim("one");
    await settled();
    boundOnce("one");
    expect([tried.length, new Set(tried).size]).toEqual([2, 1]);
  });

  test("keeps the change of another writer when it repeats a transfer (CLAIM-33)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 700 : 0);
    for (const member of world.members()) await touch(member.metadata.name ?? "");
    const transfers = meddle(isTransfer, () => undefined);
    await world.claim("one");
    await settled();
    boundOnce("one");
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
    await settled();
    boundOnce("one");
    expect([transfers, statuses]).toEqual([2, 2]);
  });

  test("does not repeat a transfer while the cache shows the old owner (CLAIM-35)", async () => {
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 5_000 : 0);
    const transfers = meddle(isTransfer, () => undefined);
    await world.claim("one");
    await world.clock.runUntil(() => world.ready("one")?.status === "True");
    for (let n = 0; n < 3; n++) {
      await world.user.patch(sandboxClaims, sandboxAt("one"), {
        type: "merge",
        body: { metadata: { labels: { n: `${n}` } } },
      });
      await world.clock.advance(200);
    }
    await settled();
    boundOnce("one");
    expect(transfers()).toBe(1);
  });

  test("takes another member when the referenced Sandbox is gone (CLAIM-36)", async () => {
    const [first] = world.members();
    const name = first?.metadata.name ?? "";
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 5_000 : 0);
    await world.user.delete(sandboxes, sandboxAt(name));
    const transfers = meddle(isTransfer, () => undefined);
    const told = new Set<string | undefined>();
    world.server.onChange(() => told.add(world.ready("one")?.reason));
    await world.claim("one", {}, { annotations: { "agents.x-k8s.io/sandbox-name": name } });
    await settled();
    boundOnce("one");
    expect(transfers()).toBe(2);
    expect([...told]).toEqual([undefined, "DependenciesReady"]);
    expect(world.read("one")?.metadata.annotations).toEqual({});
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
    await settled();
    boundOnce("one");
    expect(tried.size).toBe(1);
  });

  test("removes a stale reference in a later reconcile when the first attempt fails (CLAIM-38)", async () => {
    meddle(isClaimChange, (nth) => (nth === 0 ? { refuse: { reason: "InternalError" } } : undefined));
    await world.claim("one", {}, { annotations: { "agents.x-k8s.io/sandbox-name": "nobody" } });
    await settled();
    boundOnce("one");
    expect(world.read("one")?.metadata.annotations).toEqual({});
  });

  test("reports no conflict when it stops during a transfer, and the next process finishes it (CLAIM-39)", async () => {
    meddle(isTransfer, () => ({ delayMs: 60_000 }));
    await world.claim("one");
    await world.clock.advance(10);
    const ended = world.endProcess();
    await world.clock.advance(60_000);
    await ended;
    expect(world.ready("one")).toBeUndefined();
    world.server.onRequest = undefined;
    world.startAll();
    await settled();
    boundOnce("one");
  });

  test("binds to its own Sandbox when the response to the create was lost (CLAIM-40)", async () => {
    await world.user.patch(sandboxWarmPools, sandboxAt("pool"), { type: "merge", body: { spec: { replicas: 0 } } });
    await settled();
    let lost = 0;
    world.server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "sandboxes" && lost++ === 0 ? { reset: "after" } : undefined;
    await world.claim("one");
    await settled();
    boundOnce("one");
    expect(lost).toBe(1);
  });

  test("reports a name that somebody else took, and serves the claim when it is free (CLAIM-40)", async () => {
    await world.user.patch(sandboxWarmPools, sandboxAt("pool"), { type: "merge", body: { spec: { replicas: 0 } } });
    await settled();
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxes" ? 500 : 0);
    const spec = { podTemplate: { spec: { containers: [] } } };
    await world.user.create(sandboxes, { metadata: sandboxAt("one"), spec } as unknown as Sandbox);
    await world.claim("one");
    await world.clock.advance(5_000);
    expect(world.ready("one")).toMatchObject({ reason: "ReconcilerError" });
    await world.user.delete(sandboxes, sandboxAt("one"));
    await settled();
    boundOnce("one");
  });

  test("computes a status again after a conflict and counts the claim once (CLAIM-41)", async () => {
    await world.endProcess();
    let started = 0;
    world.startAll({ metrics: { started: () => (started += 1) } });
    await settled();
    const refused: number[] = [];
    meddle(isClaimStatus, (nth) => {
      refused.push(started);
      return nth === 0 ? { refuse: { reason: "Conflict" } } : undefined;
    });
    await world.claim("one");
    await settled();
    boundOnce("one");
    expect([refused, started]).toEqual([[0, 0], 1]);
  });

  test("keeps the claim Ready while its Sandbox cannot be patched (CLAIM-42)", async () => {
    await world.claim("one");
    await settled();
    meddle(isTransfer, () => ({ refuse: { reason: "InternalError" } }));
    const additionalPodMetadata = { labels: { "sandbox.users.io/a": "b" } };
    await world.user.patch(sandboxClaims, sandboxAt("one"), {
      type: "merge",
      body: { spec: { additionalPodMetadata } },
    });
    await world.clock.advance(5_000);
    boundOnce("one");
    world.server.onRequest = undefined;
    await settled();
    await settled();
    const [owned] = world.owned(world.read("one"));
    expect(owned?.spec.podTemplate.metadata?.labels).toMatchObject(additionalPodMetadata.labels);
  });

  test("writes the status only to the version it was computed from (CLAIM-43)", async () => {
    const bodies: unknown[] = [];
    meddle(isClaimStatus, (_, { body }) => void bodies.push(body));
    const { metadata } = await world.claim("one");
    await settled();
    expect(bodies).toMatchObject([{ metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion } }]);
  });

  test("triggers rejected claims when their template is corrected, and waiting claims when it is created (CLAIM-45)", async () => {
    await world.claim("env", { env: [{ name: "A", value: "1" }] });
    await world.claim("elsewhere", { warmPoolRef: { name: "later" } });
    await settled();
    expect([world.ready("env")?.reason, world.ready("elsewhere")?.reason]).toEqual([
      "EnvVarsInjectionRejected",
      "WarmPoolNotFound",
    ]);
    await world.user.patch(sandboxTemplates, sandboxAt("test-template"), {
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
    await settled();
    boundOnce("env");
    expect(world.ready("elsewhere")?.reason).toBe("TemplateNotFound");
    await world.user.create(sandboxTemplates, {
      ...template,
      metadata: { name: "later", namespace: "default" },
    } as never);
    await settled();
    boundOnce("elsewhere");
  });

  test("does not trigger bound claims for changes of pool or template (CLAIM-46)", async () => {
    await world.claim("one");
    await settled();
    await world.endProcess();
    let passes = 0;
    world.startAll({ metrics: { reconciled: () => (passes += 1) } });
    await settled();
    passes = 0;
    const body = { spec: { podTemplate: { metadata: { labels: { a: "b" } } } } };
    await world.user.patch(sandboxTemplates, sandboxAt("test-template"), { type: "merge", body });
    await world.user.patch(sandboxWarmPools, sandboxAt("pool"), { type: "merge", body: { spec: { replicas: 5 } } });
    await settled();
    expect(passes).toBe(0);
  });

  test("finds the Sandbox by its owner after a crash right after the transfer (CLAIM-47)", async () => {
    meddle(isClaimStatus, () => ({ delayMs: 1_000_000 }));
    await world.claim("one");
    await world.clock.advance(10);
    const ended = world.endProcess();
    await world.clock.advance(60_000);
    await ended;
    expect([world.owned(world.read("one")).length, world.read("one")?.status]).toEqual([1, undefined]);
    world.server.onRequest = undefined;
    world.startAll();
    await settled();
    boundOnce("one");
    expect(world.members()).toHaveLength(3);
  });

  test("does not repeat a transfer whose response was lost on another member (CLAIM-31)", async () => {
    const transfers = meddle(isTransfer, (nth) => (nth === 0 ? { reset: "after" } : undefined));
    await world.claim("one");
    await settled();
    boundOnce("one");
    expect(transfers()).toBe(1);
  });

  test("reports nothing about a create whose response was lost before it knows the outcome (CLAIM-40)", async () => {
    const words: unknown[] = [];
    world.server.onChange(({ resource, object }) => {
      const { status } = object as { status?: { conditions?: { reason: string }[] } };
      if (resource.plural === "sandboxclaims") words.push(status?.conditions?.[0]?.reason);
    });
    meddle(
      ({ verb, resource }) => verb === "create" && resource.plural === "sandboxes",
      (nth) => (nth === 0 ? { reset: "before" } : undefined),
    );
    await world.user.patch(sandboxWarmPools, sandboxAt("pool"), { type: "merge", body: { spec: { replicas: 0 } } });
    await settled();
    await world.claim("one");
    await settled();
    boundOnce("one");
    expect(words).not.toContain("SandboxMissing");
  });

  test("releases the member of a claim that contradicts its template (CLAIM-48)", async () => {
    const labels = { "sandbox.users.io/x": "template" };
    const body = { spec: { podTemplate: { metadata: { labels } } } };
    await world.user.patch(sandboxTemplates, sandboxAt("test-template"), { type: "merge", body });
    await settled();
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
    meddle(isTransfer, (nth) => (nth < 4 ? { refuse: { reason: "InternalError" } } : undefined));
    await world.claim("one");
    await world.clock.advance(5);
    await world.user.delete(sandboxClaims, sandboxAt("one"));
    await settled();
    for (const name of ["a", "b", "c"]) await world.claim(name);
    await world.clock.advance(1_000);
    const names = ["a", "b", "c"].map((name) => world.read(name)?.status?.sandbox?.name);
    expect(names.every((name) => name?.startsWith("pool-"))).toBe(true);
  });

  test("releases the member of a claim that becomes invalid (CLAIM-48)", async () => {
    meddle(isTransfer, () => ({ refuse: { reason: "InternalError" } }));
    await world.claim("one");
    await world.clock.advance(5);
    const body = { spec: { additionalPodMetadata: { labels: { plain: "not allowed" } } } };
    await world.user.patch(sandboxClaims, sandboxAt("one"), { type: "merge", body });
    await world.clock.advance(5_000);
    world.server.onRequest = undefined;
    for (const name of ["a", "b", "c"]) await world.claim(name);
    await world.clock.advance(1_000);
    expect(world.ready("one")?.reason).toBe("InvalidMetadata");
    const names = ["a", "b", "c"].map((name) => world.read(name)?.status?.sandbox?.name);
    expect(names.every((name) => name?.startsWith("pool-"))).toBe(true);
  });

  test("deletes a second Sandbox that another process bound, and keeps the claim Ready (CLAIM-49)", async () => {
    await world.claim("one");
    await settled();
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
    await world.user.patch(sandboxes, sandboxAt(free?.metadata.name ?? ""), {
      type: "merge",
      body: { metadata: { ownerReferences: [owner], labels: { "agents.x-k8s.io/warm-pool-sandbox": null } } },
    });
    await settled();
    boundOnce("one");
    expect([world.read("one")?.status?.sandbox, ledger.broken]).toEqual([status?.sandbox, []]);
  });

  test("deletes no second Sandbox while its cached claim is out of date (CLAIM-49)", async () => {
    await world.claim("one");
    await settled();
    const first = world.read("one")?.status?.sandbox?.name ?? "";
    const second = world.members()[0]?.metadata.name ?? "";
    const owner = { ...controllerReference(sandboxClaims, world.read("one") ?? claimOf()) };
    // Another process has told the user of the second; of that this one's watch knows nothing yet.
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxclaims" ? 10_000 : 0);
    await world.user.patch(
      sandboxClaims,
      sandboxAt("one"),
      { type: "merge", body: { status: { sandbox: { name: second } } } },
      { subresource: "status" },
    );
    const deletes = meddle(
      ({ verb, resource }) => verb === "delete" && resource.plural === "sandboxes",
      () => undefined,
    );
    const body = { metadata: { ownerReferences: [owner], labels: { "agents.x-k8s.io/warm-pool-sandbox": null } } };
    await world.user.patch(sandboxes, sandboxAt(second), { type: "merge", body });
    await world.clock.advance(5_000);
    expect(deletes()).toBe(0);
    await settled();
    expect(world.owned(world.read("one")).map(({ metadata }) => metadata.name)).toEqual([second]);
    expect(world.server.read(sandboxes, sandboxAt(first))).toBeUndefined();
  });

  test("does not delete a claim whose end is moved during the delete (EXPIRE-20)", async () => {
    const shutdownTime = new Date(world.clock.date() + 60_000).toISOString();
    await world.claim("one", { lifecycle: { shutdownTime, shutdownPolicy: "Delete" } });
    await settled();
    const tries = meddle(
      ({ verb, resource }) => verb === "delete" && resource.plural === "sandboxclaims",
      () => {
        void world.user.patch(sandboxClaims, sandboxAt("one"), { type: "merge", body: { spec: { lifecycle: null } } });
        return { delayMs: 5 };
      },
    );
    await world.clock.advance(60_000);
    expect(tries()).toBe(1);
    boundOnce("one");
  });

  test("ends a claim by the API server's clock (EXPIRE-1)", async () => {
    await world.endProcess();
    const { clock } = world;
    const ahead = { now: () => clock.now(), sleep: clock.sleep.bind(clock), schedule: clock.schedule.bind(clock) };
    world.startClaims({ scheduler: { ...ahead, date: () => clock.date() + 10 * 365 * 86_400_000 } });
    await settled();
    const shutdownTime = new Date(clock.date() + 60_000).toISOString();
    await world.claim("one", { lifecycle: { shutdownTime, shutdownPolicy: "Delete" } });
    await world.clock.advance(58_000);
    boundOnce("one");
    await world.clock.advance(4_000);
    expect(world.read("one")).toBeUndefined();
  });

  test("binds each claim to one Sandbox when two processes run at once (CLAIM-51)", async () => {
    const ledger = new Ledger();
    world.server.onChange((change) => ledger.read(change));
    const second = new AsyncDisposableStack();
    world.secondProcess(second);
    await settled();
    const names = Array.from({ length: 6 }, (_, n) => `c${n}`);
    for (const name of names) await world.claim(name);
    await settled();
    await second.disposeAsync();
    await settled();
    for (const name of names) boundOnce(name);
    expect(new Set(names.map((name) => world.read(name)?.status?.sandbox?.name)).size).toBe(6);
    expect([world.members().length, ledger.broken]).toEqual([3, []]);
  });
});
