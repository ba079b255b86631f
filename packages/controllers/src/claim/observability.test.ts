import { sandboxClaims, sandboxWarmPools } from "@agent-sandbox/api";
import type { EventRecord } from "@agent-sandbox/kube";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClaimWorld } from "./claim-world.test.support.ts";
import type { ClaimServed, ClaimStarted } from "./metrics.ts";

const firstReady = "agents.x-k8s.io/claim-first-ready-at";
const firstObserved = "agents.x-k8s.io/controller-first-observed-at";
const sandboxName = "agents.x-k8s.io/sandbox-name";

describe("metrics and events of claims", () => {
  let world: ClaimWorld;
  let started: ClaimStarted[];
  let served: ClaimServed[];
  let recorded: EventRecord[];
  beforeEach(async () => {
    [started, served, recorded] = [[], [], []];
    world = new ClaimWorld();
    world.runPods({ afterMs: () => 500 });
    await world.template();
    await world.pool({ replicas: 1 });
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const start = async (options = {}) => {
    world.startAll({
      metrics: { started: (claim) => started.push(claim), served: (claim) => served.push(claim) },
      events: { record: (_resource, _object, event) => void recorded.push(event) },
      ...options,
    });
    await world.clock.advance(30_000);
  };
  const ago = (ms: number) => new Date(world.clock.date() - ms).toISOString();
  const claim = async (name: string, annotations: Record<string, string> = {}) => {
    await world.claim(name, {}, { annotations, labels: { "agents.x-k8s.io/created-by": "go-client" } });
    await world.clock.advance(30_000);
  };

  test("records the latency of the first Ready once for each known start time (OBSERVE-2)", async () => {
    await start();
    await claim("warm", {
      "agents.x-k8s.io/webhook-first-observed-at": ago(300),
      "agents.x-k8s.io/client-first-requested-at": ago(700),
    });
    const labels = { namespace: "default", launchType: "warm", sandboxTemplate: "test-template" };
    expect(started).toEqual([
      { ...labels, sinceWebhookMs: 300, sinceObservedMs: 0, sinceRequestMs: 700, sandboxCreationMs: 0 },
    ]);
    expect(served).toEqual([{ ...labels, warmPoolName: "pool", podCondition: "ready", createdBy: "go-client" }]);
    expect(recorded).toMatchObject([{ type: "Normal", reason: "SandboxAdopted", action: "Adoption" }]);
  });

  test("measures from when another controller first observed the claim (OBSERVE-2)", async () => {
    await start();
    await claim("one", { [firstObserved]: ago(900) });
    expect(started.map(({ sinceObservedMs }) => sinceObservedMs)).toEqual([900]);
  });

  const webhookTime = "agents.x-k8s.io/webhook-first-observed-at";
  const clientTime = "agents.x-k8s.io/client-first-requested-at";
  test.for([
    ["no time", {}, [undefined, undefined]],
    ["no webhook time", { [clientTime]: 700 }, [undefined, 700]],
    ["a webhook time in the future", { [webhookTime]: -60_000, [clientTime]: 700 }, [undefined, 700]],
    ["a client time in the future", { [webhookTime]: 300, [clientTime]: -60_000 }, [300, undefined]],
    ["an invalid client time", { [webhookTime]: 300, [clientTime]: "noon" }, [300, undefined]],
  ] as const)("records the other latencies with %s (OBSERVE-3)", async ([, given, expected]) => {
    await start();
    const times = Object.entries(given).map(([key, at]) => [key, typeof at === "number" ? ago(at) : at]);
    await claim("one", Object.fromEntries(times) as Record<string, string>);
    expect(started.map(({ sinceWebhookMs, sinceRequestMs }) => [sinceWebhookMs, sinceRequestMs])).toEqual([expected]);
    expect(started.map(({ sinceObservedMs }) => sinceObservedMs)).toEqual([0]);
  });

  test.for([
    ["adopted", "warm", { replicas: 1 }, "patch"],
    ["created", "cold", { replicas: 0 }, "create"],
  ] as const)(
    "counts a Sandbox once that was %s by a write whose response was lost (OBSERVE-8)",
    async ([, launchType, pool, verb]) => {
      await world.user.patch(
        sandboxWarmPools,
        { namespace: "default", name: "pool" },
        { type: "merge", body: { spec: pool } },
      );
      await start();
      let lost = 0;
      world.server.onRequest = (call) =>
        call.verb === verb && call.resource.plural === "sandboxes" && call.subresource === undefined && lost++ === 0
          ? { reset: "after" }
          : undefined;
      await claim("one");
      await flip("one", "False");
      await flip("one", "True");
      expect(served.map((each) => each.launchType)).toEqual([launchType]);
    },
  );

  test("counts an adoption that another controller started (OBSERVE-8)", async () => {
    await start();
    const [member] = world.members();
    await claim("one", { "agents.x-k8s.io/sandbox-name": member?.metadata.name ?? "" });
    expect(served.map(({ launchType, warmPoolName }) => [launchType, warmPoolName])).toEqual([["warm", "pool"]]);
  });

  test("tells adopted from created Sandboxes in counters and events (OBSERVE-9)", async () => {
    await start();
    await world.claim("cold", { warmPoolRef: { name: "pool" }, volumeClaimTemplates: [] });
    await world.claim("colder");
    await world.clock.advance(30_000);
    expect(served.map(({ launchType, podCondition }) => [launchType, podCondition])).toEqual([
      ["warm", "ready"],
      ["cold", "not_ready"],
    ]);
    expect(recorded.map(({ reason }) => reason)).toEqual(["SandboxAdopted", "SandboxProvisioned"]);
  });

  const flip = async (name: string, status: "True" | "False") => {
    const sandbox = world.read(name)?.status?.sandbox?.name ?? "";
    const conditions = ["PodScheduled", "Ready"].map((type) => ({ type, status: type === "Ready" ? status : "True" }));
    const place = { namespace: "default", name: sandbox };
    const patch = { type: "merge", body: { status: { conditions } } } as const;
    const pods = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
    await world.user.patch(pods, place, patch, { subresource: "status" });
    await world.clock.advance(5_000);
  };

  test("records the latency once when readiness flaps (OBSERVE-4)", async () => {
    await start();
    await claim("one");
    await flip("one", "False");
    expect(world.ready("one")?.status).toBe("False");
    await flip("one", "True");
    expect([world.ready("one")?.status, started.length]).toEqual(["True", 1]);
  });

  test("records nothing for a claim that had a status before the process started (OBSERVE-4)", async () => {
    await start();
    await claim("one");
    await flip("one", "False");
    await world.endProcess();
    started = [];
    await start();
    await flip("one", "True");
    expect([world.ready("one")?.status, started]).toEqual(["True", []]);
  });

  /** The record at each version of the claim that is Ready, and at the last one that is not. */
  const recordsOf = (name: string) => {
    const seen: { isReady: boolean; record: string[] }[] = [];
    world.server.onChange(({ object }) => {
      if (object.metadata?.name !== name) return;
      const record = [firstObserved, firstReady, sandboxName].filter((key) => object.metadata?.annotations?.[key]);
      seen.push({ isReady: world.ready(name)?.status === "True", record });
    });
    return seen;
  };

  test.for([
    ["from the pool", { replicas: 1 }, [firstObserved, firstReady, sandboxName]],
    ["created for it", { replicas: 0 }, [firstObserved, firstReady]],
  ] as const)(
    "records a claim completely before it is Ready with a Sandbox %s (OBSERVE-14)",
    async ([, replicas, expected]) => {
      const place = { namespace: "default", name: "pool" };
      await world.user.patch(sandboxWarmPools, place, { type: "merge", body: { spec: replicas } });
      await start();
      const seen = recordsOf("one");
      await claim("one");
      const ready = seen.filter(({ isReady }) => isReady);
      expect(ready.length).toBeGreaterThan(0);
      expect(ready.map(({ record }) => record)).toEqual(ready.map(() => expected));
      expect(world.writes()["patch sandboxclaims"]).toBe(1);
    },
  );

  test("records when it observed a claim that has no Sandbox (OBSERVE-15)", async () => {
    await start();
    await world.claim("one", { warmPoolRef: { name: "none" } });
    const at = `${new Date(world.clock.date()).toISOString().slice(0, 19)}.000000Z`;
    await world.clock.advance(600_000);
    expect(world.ready("one")?.reason).toBe("WarmPoolNotFound");
    expect(world.read("one")?.metadata.annotations).toEqual({ [firstObserved]: at });
    expect(world.writes()["patch sandboxclaims"]).toBe(1);
  });

  test("records the member and the times in one write and repeats it after a failure (OBSERVE-5)", async () => {
    await start();
    let refused = 0;
    world.server.onRequest = ({ verb, resource, subresource }) =>
      verb === "patch" && resource.plural === "sandboxclaims" && subresource === undefined && refused++ === 0
        ? { refuse: { reason: "InternalError" } }
        : undefined;
    const at = `${new Date(world.clock.date()).toISOString().slice(0, 19)}.000000Z`;
    const [member] = world.members();
    await claim("one");
    const name = member?.metadata.name;
    expect(world.read("one")?.metadata.annotations).toEqual({
      [firstObserved]: at,
      [firstReady]: at,
      [sandboxName]: name,
    });
    expect([world.writes()["patch sandboxclaims"], started.length]).toEqual([1, 1]);
  });

  test("records the first Ready as unknown if the claim was Ready before (OBSERVE-5)", async () => {
    await start();
    await claim("one");
    await world.endProcess();
    const body = { metadata: { annotations: { [firstReady]: null } } };
    await world.user.patch(sandboxClaims, { namespace: "default", name: "one" }, { type: "merge", body });
    await start();
    expect(world.read("one")?.metadata.annotations?.[firstReady]).toBe("unknown");
  });

  test("leaves forged times in place, which affect no other claim (OBSERVE-4)", async () => {
    await start();
    const forged = { [firstObserved]: "x".repeat(10_000), [firstReady]: "9999-01-01T00:00:00Z" };
    await claim("forged", forged);
    await claim("honest");
    expect([world.ready("forged")?.status, world.ready("honest")?.status]).toEqual(["True", "True"]);
    expect(world.read("forged")?.metadata.annotations).toMatchObject(forged);
    expect(started.map(({ sinceObservedMs }) => sinceObservedMs)).toEqual([expect.any(Number)]);
    expect(served).toHaveLength(2);
  });

  test("does not record the first observation when that is disabled (OBSERVE-6)", async () => {
    await start({ events: undefined, stampClaims: false });
    await claim("one");
    await world.claim("two", { warmPoolRef: { name: "none" } });
    await world.clock.advance(30_000);
    expect(Object.keys(world.read("one")?.metadata.annotations ?? {}).sort()).toEqual([firstReady, sandboxName]);
    expect([world.read("two")?.metadata.annotations, world.ready("two")?.reason]).toEqual([
      undefined,
      "WarmPoolNotFound",
    ]);
    expect([world.ready("one")?.status, recorded]).toEqual(["True", []]);
  });

  test("does not record the latency of a claim that another controller stamped (OBSERVE-4)", async () => {
    await start();
    await claim("one", { [firstReady]: "2026-01-01T00:00:00Z" });
    expect([world.ready("one")?.status, started]).toEqual(["True", []]);
  });

  test("records the latency of a new claim with the name of a deleted one (OBSERVE-7)", async () => {
    await start();
    await claim("one");
    await world.user.delete(sandboxClaims, { namespace: "default", name: "one" });
    await world.clock.advance(5_000);
    await claim("one");
    expect(started).toHaveLength(2);
  });
});
