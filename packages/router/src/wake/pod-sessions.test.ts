import {
  lastActivityAnnotation,
  type Pod,
  type Sandbox,
  sandboxClaims,
  sandboxes,
  sandboxNameHashLabel,
  saveAnnotation,
} from "@agent-sandbox/api";
import { type Client, createClient, Informers, type SessionTarget, silentLogger } from "@agent-sandbox/kube";
import { MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ActivityTracker } from "../activity/activity-tracker.ts";
import { Directory } from "../cluster/directory.ts";
import { pods } from "../cluster/resources.ts";
import { SandboxSessions } from "./pod-sessions.ts";
import { WaitQueue } from "./wait-queue.ts";
import { Waker } from "./waker.ts";

const namespace = "default";
const name = "box";
const key = { namespace, name };
const minute = 60_000;
const idlePolicy = { suspendAfterSeconds: 240 };

/** A Sandbox controller's part is played by the tests; the API server in memory keeps what they write. */
class World implements Disposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly server: MemoryApiServer;
  readonly client: Client;
  readonly sessions: SandboxSessions;
  readonly activity: ActivityTracker;
  readonly #stack = new DisposableStack();

  constructor(perSandbox = 10) {
    const { clock: scheduler } = this;
    const resources = [{ ...sandboxes, status: true }, sandboxClaims, { ...pods, status: true }];
    this.server = new MemoryApiServer({ resources, scheduler });
    this.client = createClient(this.server, { clock: scheduler });
    const log = silentLogger;
    const { client } = this;
    const informers = new Informers({ client, log, scheduler });
    this.#stack.defer(() => void informers[Symbol.asyncDispose]());
    const directory = this.#stack.use(new Directory({ informers, isShared: false, claims: true }));
    const sandboxByUid = (uid: string) => directory.sandboxByUid(uid);
    this.activity = this.#stack.use(new ActivityTracker({ client, scheduler, log, sandboxByUid }));
    const notify = (changed: string): void => directory.notify(changed);
    const onWoken = (sandbox: Sandbox): void => this.activity.recorded(sandbox);
    const waker = this.#stack.use(new Waker({ client, scheduler, log, notify, onWoken }));
    const queue = new WaitQueue({ perSandbox, total: 100, totalBytes: 2 ** 30 });
    const { activity } = this;
    this.sessions = new SandboxSessions({ directory, activity, queue, waker, scheduler, holdMs: minute });
  }

  [Symbol.dispose](): void {
    this.#stack.dispose();
  }

  async sandbox(spec: Partial<Sandbox["spec"]> = {}, metadata: Sandbox["metadata"] = {}): Promise<Sandbox> {
    const created = await this.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { ...key, ...metadata },
      spec: { podTemplate: { spec: { containers: [] } }, idlePolicy, ...spec },
    });
    await this.clock.advance(1);
    return created;
  }

  async suspend(reason = "Idle"): Promise<void> {
    const conditions = [{ type: "Suspended", status: "True", reason, message: "", lastTransitionTime: "" }];
    const patch = { type: "merge", body: { status: { conditions } } } as const;
    await this.client.patch(sandboxes, key, patch, { subresource: "status" });
    await this.clock.advance(1);
  }

  /** Creates the Sandbox's Pod in that phase. */
  async pod(sandbox: Sandbox, phase = "Running"): Promise<Pod> {
    const reference = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, controller: true };
    const ownerReferences = [{ uid: sandbox.metadata.uid ?? "", ...reference }];
    const metadata = { ...key, labels: { [sandboxNameHashLabel]: "hash" }, ownerReferences };
    await this.client.create(pods, { metadata });
    return await this.phase(phase);
  }

  async phase(phase: string): Promise<Pod> {
    const patch = { type: "merge", body: { status: { phase } } } as const;
    const pod = await this.client.patch(pods, key, patch, { subresource: "status" });
    await this.clock.advance(1);
    return pod;
  }

  begin(target: Partial<SessionTarget> = {}, signal: AbortSignal = new AbortController().signal): Promise<Disposable> {
    const object = this.server.read(pods, key);
    return this.sessions.begin({ resource: "pods", ...key, object, ...target }, signal);
  }

  get activityTime(): string | undefined {
    return this.server.read(sandboxes, key)?.metadata.annotations?.[lastActivityAnnotation];
  }

  get mode(): string | undefined {
    return this.server.read(sandboxes, key)?.spec.operatingMode;
  }
}

let world: World;
beforeEach(async () => {
  world = new World();
  await world.clock.advance(1);
});
afterEach(() => world[Symbol.dispose]());

describe("a session with the Pod of a running Sandbox", () => {
  test("is activity while it lasts (SLEEP-23)", async () => {
    await world.pod(await world.sandbox());
    const session = await world.begin();
    await world.clock.advance(10 * minute);
    expect(Date.parse(world.activityTime ?? "")).toBeGreaterThan(world.clock.date() - 2 * minute);
    session[Symbol.dispose]();
    await world.clock.advance(2 * minute);
    const last = world.activityTime;
    await world.clock.advance(10 * minute);
    expect([world.activityTime, world.activity.size]).toEqual([last, 0]);
  });

  test("is activity of no Sandbox without an idle policy", async () => {
    await world.pod(await world.sandbox({ idlePolicy: {} }));
    using _session = await world.begin();
    await world.clock.advance(10 * minute);
    expect(world.activityTime).toBeUndefined();
  });

  test.for<[string, object]>([
    ["names the UID of another Sandbox", { uid: "another" }],
    ["names another Sandbox", { name: "another" }],
    ["is controlled by another kind", { kind: "ReplicaSet" }],
    ["is only owned, not controlled", { controller: false }],
  ])("is no activity when the Pod %s (SLEEP-25)", async ([, owner]) => {
    const pod = await world.pod(await world.sandbox());
    const ownerReferences = (pod.metadata?.ownerReferences ?? []).map((reference) => ({ ...reference, ...owner }));
    using _session = await world.begin({ object: { ...pod, metadata: { ...pod.metadata, ownerReferences } } });
    await world.clock.advance(10 * minute);
    expect(world.activityTime).toBeUndefined();
  });

  test("is no activity when the Pod has another name than the Sandbox's Pod (SLEEP-25)", async () => {
    const sandbox = await world.sandbox();
    const forged = { metadata: { ...(await world.pod(sandbox)).metadata, name: "forged" } };
    using _session = await world.begin({ name: "forged", object: forged });
    await world.clock.advance(10 * minute);
    expect(world.activityTime).toBeUndefined();
  });

  test("is activity although the Pod is not ready", async () => {
    await world.pod(await world.sandbox());
    using _session = await world.begin();
    await world.clock.advance(1);
    expect(world.activityTime).toBeDefined();
  });

  test("begins at once for Pods that belong to no Sandbox, and for none at all", async () => {
    await world.begin({ name: "nobody", object: undefined });
    await world.begin({ name: "plain", object: { metadata: { name: "plain", namespace } } });
    expect(world.activity.size).toBe(0);
  });
});

describe("a session with the Pod of a Sandbox that is asleep", () => {
  test("wakes it and waits for its Pod to run (SLEEP-24)", async () => {
    const sandbox = await world.sandbox();
    await world.suspend();
    const session = world.begin();
    await world.clock.advance(1);
    expect(world.activityTime).toBeDefined();
    await world.pod(sandbox, "Pending");
    await world.phase("Running");
    using _session = await session;
    expect(world.activity.size).toBe(1);
  });

  test("wakes it when the annotation is not a time", async () => {
    const sandbox = await world.sandbox({}, { annotations: { [lastActivityAnnotation]: "soon" } });
    await world.suspend();
    const session = world.begin();
    await world.clock.advance(1);
    expect(world.activityTime).toMatch(/^2026-/);
    await world.pod(sandbox);
    using _session = await session;
  });

  test("waits for the next Pod while the last one is being deleted", async () => {
    const sandbox = await world.sandbox();
    const { metadata } = await world.pod(sandbox);
    await world.suspend();
    const object = { metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    let isOpen = false;
    const session = world.begin({ object }).then((begun) => {
      isOpen = true;
      return begun;
    });
    await world.clock.advance(1000);
    expect(isOpen).toBe(false);
    await world.client.delete(pods, key);
    await world.pod(sandbox);
    using _session = await session;
  });

  test("waits for the next Pod while the last one is being saved, and after it ended", async () => {
    const sandbox = await world.sandbox();
    await world.pod(sandbox);
    const asked = { metadata: { annotations: { [saveAnnotation]: "0" } } };
    await world.client.patch(pods, key, { type: "merge", body: asked });
    await world.clock.advance(1);
    let isOpen = false;
    const session = world.begin().then((begun) => {
      isOpen = true;
      return begun;
    });
    await world.clock.advance(1);
    await world.phase("Succeeded");
    expect(isOpen).toBe(false);
    await world.client.delete(pods, key);
    await world.pod(sandbox);
    using _session = await session;
  });

  test("is refused after the time that sessions wait", async () => {
    await world.sandbox();
    await world.suspend();
    const session = world.begin().catch((error: unknown) => error);
    await world.clock.advance(minute);
    expect(await session).toMatchObject({
      reason: "ServiceUnavailable",
      message: 'sandbox "box" is not running after 60 s',
    });
  });

  test("is refused when too many wait", async () => {
    using crowded = new World(1);
    await crowded.sandbox();
    await crowded.suspend();
    const first = crowded.begin().catch((error: unknown) => error);
    await expect(crowded.begin()).rejects.toMatchObject({ reason: "TooManyRequests" });
    await crowded.clock.advance(minute);
    expect(await first).toMatchObject({ reason: "ServiceUnavailable" });
  });

  test("ends when the client disconnects, and leaves its place to others", async () => {
    using crowded = new World(1);
    await crowded.sandbox();
    await crowded.suspend();
    const gone = new AbortController();
    const first = crowded.begin({}, gone.signal).catch((error: unknown) => error);
    gone.abort(new Error("the client is gone"));
    expect(await first).toMatchObject({ message: expect.stringContaining("client") });
    const second = crowded.begin();
    await crowded.clock.advance(1);
    await crowded.pod(crowded.server.read(sandboxes, key) as Sandbox);
    using _session = await second;
  });

  test("does not wake a Sandbox whose policy does not allow it (SLEEP-24)", async () => {
    await world.sandbox({ resumePolicy: "Manual" });
    await world.suspend();
    using _session = await world.begin();
    await world.clock.advance(minute);
    expect([world.activityTime, world.activity.size]).toEqual([undefined, 0]);
  });

  test("does not wake a Sandbox that its author suspended (SLEEP-24)", async () => {
    await world.sandbox({ operatingMode: "Suspended" });
    using _session = await world.begin();
    await world.clock.advance(minute);
    expect([world.mode, world.activityTime]).toEqual(["Suspended", undefined]);
  });

  test("wakes a Sandbox that its author suspended until there is traffic (SLEEP-24)", async () => {
    const sandbox = await world.sandbox({ operatingMode: "Suspended", resumePolicy: "OnTraffic" });
    const session = world.begin();
    await world.clock.advance(1);
    expect(world.mode).toBe("Running");
    await world.pod(sandbox);
    using _session = await session;
  });

  test.for(["Succeeded", "Failed"])("does not wait for a Pod that has ended as %s", async (phase) => {
    const sandbox = await world.sandbox();
    await world.suspend();
    const session = world.begin();
    await world.clock.advance(1);
    await world.pod(sandbox, phase);
    (await session)[Symbol.dispose]();
    expect(world.server.read(pods, key)?.status?.phase).toBe(phase);
  });

  test("does not wait for a Sandbox that is deleted meanwhile", async () => {
    await world.sandbox();
    await world.suspend();
    const session = world.begin();
    await world.client.delete(sandboxes, key);
    await world.clock.advance(1);
    (await session)[Symbol.dispose]();
    expect(world.server.read(sandboxes, key)).toBeUndefined();
  });

  test("wakes by the Pod name in the Sandbox's annotation, the Sandbox of that name first", async () => {
    const annotations = { "agents.x-k8s.io/pod-name": "box" };
    const other = await world.sandbox({}, { name: "other", annotations });
    const own = await world.sandbox();
    await world.suspend();
    const session = world.begin();
    await world.clock.advance(1);
    expect(world.activityTime).toBeDefined();
    expect(world.server.read(sandboxes, { namespace, name: "other" })).toEqual(other);
    await world.pod(own);
    using _session = await session;
  });
});

describe("a session with the Service of a Sandbox", () => {
  const service = (sandbox: Sandbox) => ({
    metadata: {
      ...key,
      ownerReferences: [
        {
          apiVersion: "agents.x-k8s.io/v1beta1",
          kind: "Sandbox",
          name,
          uid: sandbox.metadata.uid ?? "",
          controller: true,
        },
      ],
    },
  });

  test("wakes the Sandbox and waits for its Pod to be ready (SLEEP-24)", async () => {
    const sandbox = await world.sandbox();
    await world.suspend();
    let isOpen = false;
    const session = world.begin({ resource: "services", object: service(sandbox) }).then((begun) => {
      isOpen = true;
      return begun;
    });
    await world.clock.advance(1);
    await world.pod(sandbox);
    expect(isOpen).toBe(false);
    const conditions = [{ type: "Ready", status: "True" }];
    const patch = { type: "merge", body: { status: { conditions } } } as const;
    await world.client.patch(pods, key, patch, { subresource: "status" });
    await world.clock.advance(1);
    using _session = await session;
  });

  test("wakes no Sandbox that does not control the Service (SLEEP-25)", async () => {
    const sandbox = await world.sandbox();
    await world.suspend();
    const forged = service({ ...sandbox, metadata: { ...sandbox.metadata, uid: "another" } });
    await world.begin({ resource: "services", object: forged });
    await world.begin({ resource: "services", object: undefined });
    await world.clock.advance(1);
    expect(world.activityTime).toBeUndefined();
  });
});
