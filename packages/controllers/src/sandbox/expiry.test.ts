import { sandboxes } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods, services } from "../child-caches.ts";
import { decideNow } from "./decide.ts";
import {
  deployment,
  name,
  namespace,
  newPod,
  newSandbox,
  ownedBy,
  podTemplate,
  SandboxWorld,
} from "./sandbox-world.test.support.ts";
import { defaultSettings } from "./settings.ts";

const key = { namespace, name };
const hour = 3_600_000;

describe("expiry", () => {
  let world: SandboxWorld;
  beforeEach(() => {
    world = new SandboxWorld();
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const inMs = (ms: number): string => new Date(world.clock.date() + ms).toISOString().replace(/\.\d+Z/, "Z");
  const expired = { status: "False", reason: "SandboxExpired", message: "Sandbox has expired" };

  test.for([
    ["two hours ahead", 2 * hour, 2 * hour],
    ["half a second ahead", 500, 2_000],
    ["now", 0, 1],
    ["never", undefined, undefined],
  ] as const)("requeues a Sandbox that expires %s for its shutdown time (EXPIRE-1)", ([, aheadMs, requeueAfterMs]) => {
    const now = Date.parse("2026-03-01T10:00:00.000Z");
    const spec = aheadMs === undefined ? {} : { shutdownTime: new Date(now + aheadMs).toISOString() };
    const seen = {
      sandbox: newSandbox({ metadata: { name, namespace, uid: "1" }, spec }),
      pods: [],
      trackedPod: undefined,
      volumeClaims: new Map(),
      service: undefined,
      watched: {},
      failures: [],
    };
    const decision = decideNow(seen, now, defaultSettings);
    expect(decision.requeueAt).toBe(requeueAfterMs === undefined ? undefined : now + requeueAfterMs);
    const ready = decision.status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready?.reason).toBe(aheadMs === 0 ? "SandboxExpired" : "DependenciesNotReady");
  });

  test("writes the status of an expired Sandbox before it deletes anything (EXPIRE-2)", async () => {
    await world.createRunning({ spec: { service: true, shutdownTime: inMs(hour) } });
    const moments: unknown[] = [];
    world.server.onChange(() => {
      const { status, ...others } = { status: world.sandbox()?.status, pod: world.pod(), service: world.service() };
      moments.push({
        podIPs: status?.podIPs,
        conditions: world.conditionTypes,
        ready: world.condition("Ready"),
        ...others,
      });
    });
    await world.settle(hour);
    expect(moments[0]).toMatchObject({
      podIPs: ["10.0.0.2"],
      conditions: ["Suspended", "Ready"],
      ready: expired,
      pod: { metadata: { name } },
      service: { metadata: { name } },
    });
    expect(moments.length).toBeGreaterThan(1);
  });

  test("deletes Pod and Service of a retained Sandbox and clears its status except the conditions (EXPIRE-3)", async () => {
    await world.createRunning({ spec: { service: true, shutdownTime: inMs(hour) } });
    await world.settle(hour);
    expect([world.pod(), world.service()]).toEqual([undefined, undefined]);
    expect(Object.keys(world.sandbox()?.status ?? {})).toEqual(["conditions"]);
    expect(world.condition("Ready")).toMatchObject(expired);
    const later = await world.writesDuring(() => world.settle(9 * hour));
    expect(later).toEqual({});
  });

  test("deletes a Pod that the Sandbox owns under another name (EXPIRE-4)", async () => {
    const sandbox = await world.create({ spec: { operatingMode: "Suspended" } });
    await world.user.create(pods, newPod({ name: "adopted", ownerReferences: [ownedBy(sandbox)] }));
    await world.edit({ spec: { operatingMode: "Running" } });
    await world.settle();
    await world.edit({
      metadata: { annotations: { "agents.x-k8s.io/pod-name": "elsewhere" } },
      spec: { shutdownTime: inMs(-1_000) },
    });
    await world.settle();
    expect(world.server.readAll(pods)).toEqual([]);
  });

  test("deletes an expired Sandbox with shutdownPolicy Delete (EXPIRE-5)", async () => {
    await world.createRunning({ spec: { shutdownTime: inMs(hour), shutdownPolicy: "Delete" } });
    await world.settle(hour);
    expect([world.sandbox(), world.pod()]).toEqual([undefined, undefined]);
  });

  test("deletes an expired Sandbox although its Pod cannot be deleted (EXPIRE-5)", async () => {
    await world.createRunning({ spec: { shutdownTime: inMs(hour), shutdownPolicy: "Delete" } });
    world.refuse("delete", pods);
    await world.settle(hour);
    expect(world.sandbox()).toBeUndefined();
  });

  test.for([
    ["a Pod of another controller", [deployment]],
    ["a Pod without controller", []],
  ] as const)("keeps %s at expiry and deletes the Service (EXPIRE-6)", async ([, owners]) => {
    const sandbox = await world.create({ spec: { operatingMode: "Suspended", service: true } });
    await world.user.create(pods, newPod({ ownerReferences: [...owners, { ...ownedBy(sandbox), controller: false }] }));
    await world.settle();
    await world.edit({ spec: { shutdownTime: inMs(-1_000) } });
    await world.settle();
    expect(world.pod()?.metadata).not.toHaveProperty("deletionTimestamp");
    expect(world.service()).toBeUndefined();
    expect(world.server.read(services, key)).toBeUndefined();
  });

  test("reports expiry and creates nothing for a Sandbox created too late (EXPIRE-7)", async () => {
    await world.create({ spec: { shutdownTime: inMs(-1_000) } });
    await world.settle();
    expect(world.condition("Ready")).toMatchObject(expired);
    expect(world.server.writes.get("create pods")).toBeUndefined();
  });

  test("keeps Finished when the Sandbox expires (EXPIRE-8)", async () => {
    await world.createRunning({ spec: { shutdownTime: inMs(hour), ...podTemplate({}, { restartPolicy: "Never" }) } });
    await world.podReports({ phase: "Succeeded" });
    await world.settle(hour);
    expect(world.condition("Finished")).toMatchObject({ status: "True", reason: "PodSucceeded" });
    expect(world.condition("Ready")).toMatchObject(expired);
  });

  test("writes nothing to a Sandbox that is being deleted (EXPIRE-9)", async () => {
    await world.createRunning({ metadata: { finalizers: ["example.org/hold"] } });
    await world.user.delete(sandboxes, key);
    const writes = await world.writesDuring(async () => {
      await world.user.delete(pods, key);
      await world.settle();
    });
    expect(writes).toEqual({ "delete pods": 1 });
  });

  test("restarts a retained Sandbox when shutdownTime moves into the future (EXPIRE-10)", async () => {
    await world.createRunning({ spec: { shutdownTime: inMs(hour) } });
    await world.settle(hour);
    await world.edit({ spec: { shutdownTime: inMs(hour) } });
    await world.settle();
    expect(world.pod()).toBeDefined();
    expect(world.condition("Ready")).toMatchObject({ reason: "DependenciesNotReady" });
  });

  test("does not delete a Sandbox whose shutdownTime moves during the delete (EXPIRE-10)", async () => {
    await world.createRunning({ spec: { shutdownTime: inMs(hour), shutdownPolicy: "Delete" } });
    let hasRaced = false;
    world.server.onRequest = ({ verb, resource }) => {
      if (verb !== "delete" || resource.plural !== "sandboxes" || hasRaced) return undefined;
      hasRaced = true;
      void world.edit({ spec: { shutdownTime: inMs(10 * hour) } });
      return { delayMs: 10 };
    };
    await world.settle(hour + 5_000);
    expect(hasRaced).toBe(true);
    expect(world.sandbox()?.metadata).not.toHaveProperty("deletionTimestamp");
    expect(world.pod()).toBeDefined();
  });

  test("does not delete a terminating Pod a second time (EXPIRE-11)", async () => {
    await using slow = new SandboxWorld({ gracefulPods: true });
    await slow.createRunning({ spec: { shutdownTime: new Date(slow.clock.date() + hour).toISOString() } });
    await slow.settle(2 * hour);
    expect(slow.server.requests.get("delete pods")).toBe(1);
  });

  test("expires by the API server's clock when its own clock is ahead, and late when it is behind (EXPIRE-1)", async () => {
    world.clockErrorMs = 10 * 365 * 24 * hour;
    await world.createRunning({ spec: { shutdownTime: inMs(2 * hour), shutdownPolicy: "Delete" } });
    await world.settle(hour);
    expect(world.condition("Ready")?.status).toBe("True");
    const attempts = await world.attemptsDuring(() => world.settle(hour - 10_000));
    expect(attempts).toEqual({});
    await world.settle(20_000);
    expect(world.sandbox()).toBeUndefined();
    world.clockErrorMs = -hour;
    await world.createRunning({ name: "late", spec: { shutdownTime: inMs(hour), shutdownPolicy: "Delete" } });
    await world.settle(hour + 60_000);
    expect(world.sandbox("late")).toBeDefined();
    await world.settle(hour);
    expect(world.sandbox("late")).toBeUndefined();
  });

  test("uses its own clock when the API server's clock cannot be read (EXPIRE-12)", async () => {
    world.controllerFaults = ({ resource }) =>
      resource.plural === "events" ? { refuse: { reason: "Forbidden" } } : undefined;
    await world.createRunning({ spec: { shutdownTime: inMs(hour), shutdownPolicy: "Delete" } });
    await world.settle(hour + 1_000);
    expect(world.sandbox()).toBeUndefined();
  });
});
