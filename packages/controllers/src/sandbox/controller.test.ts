import { type Pod, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { type Client, createClient, Fence, Informers } from "@agent-sandbox/kube";
import { MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pods } from "./apply.ts";
import { startSandboxController } from "./controller.ts";

const key = { namespace: "default", name: "my-sandbox" };
const wanted: Sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { ...key },
  spec: { podTemplate: { spec: { containers: [{ name: "c", image: "host" }] } } },
};

describe("the Sandbox controller", () => {
  let clock: VirtualClock;
  let server: MemoryApiServer;
  let user: Client;
  let cleanup: AsyncDisposableStack;

  beforeEach(() => {
    clock = new VirtualClock();
    cleanup = new AsyncDisposableStack();
    server = new MemoryApiServer({
      resources: [
        { ...sandboxes, status: true },
        { ...pods, status: true },
      ],
      scheduler: clock,
    });
    user = createClient(server, { clock, random: () => 0 });
    const informers = cleanup.use(new Informers({ client: user, scheduler: clock, follow: { random: () => 0 } }));
    const fence = new Fence({ informers, scheduler: clock });
    cleanup.use(startSandboxController({ informers, fence, scheduler: clock, now: () => clock.date() }));
  });
  afterEach(async () => await cleanup.disposeAsync());

  const settled = () => clock.advance(10_000);
  const ready = () => server.read(sandboxes, key)?.status?.conditions?.find(({ type }) => type === "Ready");

  async function podRuns(): Promise<void> {
    const conditions = [
      { type: "PodScheduled", status: "True" },
      { type: "Ready", status: "True" },
    ];
    const status: Pod["status"] = { phase: "Running", podIPs: [{ ip: "10.0.0.2" }], conditions };
    await user.patch(pods, key, { type: "merge", body: { status } }, { subresource: "status" });
  }

  test("brings a Sandbox to Ready with one Pod and two status writes", async () => {
    await user.create(sandboxes, wanted);
    await settled();
    await podRuns();
    await settled();
    expect(ready()).toMatchObject({ status: "True", reason: "DependenciesReady" });
    expect(Object.fromEntries(server.writes)).toMatchObject({ "create pods": 1, "patch sandboxes/status": 2 });
  });

  test("says why a Pod cannot be made, and makes it when it can", async () => {
    let refused = 0;
    server.onRequest = ({ verb, resource }) =>
      verb === "create" && resource.plural === "pods" && refused++ < 3
        ? { refuse: { reason: "InternalError" } }
        : undefined;
    await user.create(sandboxes, wanted);
    await clock.runUntil(() => ready() !== undefined);
    expect(ready()).toMatchObject({ status: "False", reason: "ReconcilerError" });
    await settled();
    expect(ready()).toMatchObject({ status: "False", reason: "DependenciesNotReady" });
    expect(server.readAll(pods)).toHaveLength(1);
  });

  test("a settled Sandbox costs no write, however often it is looked at", async () => {
    await user.create(sandboxes, wanted);
    await settled();
    await podRuns();
    await settled();
    const before = Object.fromEntries(server.writes);
    await clock.advance(11 * 3_600_000);
    expect(Object.fromEntries(server.writes)).toEqual(before);
  });

  test("makes one Pod although its watch lags", async () => {
    server.watchDelayMs = () => 3_000;
    await user.create(sandboxes, wanted);
    await clock.advance(60_000);
    expect(server.writes.get("create pods")).toBe(1);
  });

  test("suspends and resumes with a new Pod", async () => {
    await user.create(sandboxes, wanted);
    await settled();
    await podRuns();
    await settled();
    const first = server.read(pods, key)?.metadata?.uid;
    const mode = (operatingMode: string) =>
      user.patch(sandboxes, key, { type: "merge", body: { spec: { operatingMode } } });
    await mode("Suspended");
    await settled();
    expect(server.read(pods, key)).toBeUndefined();
    expect(ready()).toMatchObject({ status: "False", reason: "SandboxSuspended", message: "Sandbox is suspended" });
    await mode("Running");
    await settled();
    expect(server.read(pods, key)?.metadata?.uid).not.toBe(first);
  });

  test("recovers when a stranger's Pod gives up the name", async () => {
    await user.create(pods, { metadata: key, spec: { containers: [] } });
    await user.create(sandboxes, wanted);
    await settled();
    expect(ready()).toMatchObject({ reason: "ReconcilerError" });
    await user.delete(pods, key);
    await settled();
    expect(server.read(pods, key)?.metadata?.ownerReferences?.[0]?.kind).toBe("Sandbox");
  });
});
