import { lastActivityAnnotation, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { createClient, silentLogger } from "@agent-sandbox/kube";
import { MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { describe, expect, test } from "vitest";
import { ActivityTracker } from "./activity-tracker.ts";

const minute = 60_000;
type IdlePolicy = NonNullable<Sandbox["spec"]["idlePolicy"]>;

async function setUp(idlePolicy: Sandbox["spec"]["idlePolicy"]) {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [{ ...sandboxes, status: true }], scheduler: clock });
  const client = createClient(server, { clock });
  const created = await client.create(sandboxes, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "box", namespace: "default" },
    spec: { podTemplate: { spec: { containers: [] } }, ...(idlePolicy === undefined ? {} : { idlePolicy }) },
  });
  const read = (): Sandbox => server.read(sandboxes, { namespace: "default", name: "box" }) as Sandbox;
  const sandboxByUid = (uid: string) => (uid === created.metadata.uid ? read() : undefined);
  const tracker = new ActivityTracker({ client, scheduler: clock, log: silentLogger, sandboxByUid });
  const writes = () => server.writes.get("patch sandboxes") ?? 0;
  const written = () => read().metadata.annotations?.[lastActivityAnnotation];
  return { clock, server, tracker, writes, written, sandbox: created };
}

test("writes once at first, then at most once in a quarter of the window however much there is", async () => {
  const { clock, tracker, writes, written, sandbox } = await setUp({ suspendAfterSeconds: 240 });
  for (let request = 0; request < 600; request += 1) {
    tracker.begin(sandbox)[Symbol.dispose]();
    await clock.advance(1000);
  }
  // Ten quarters of one minute, first and last minute included.
  expect(writes()).toBe(11);
  expect(Date.parse(written() ?? "")).toBeGreaterThan(clock.date() - minute);
});

test("counts an open connection as use although nothing is sent", async () => {
  const { clock, tracker, writes, sandbox } = await setUp({ suspendAfterSeconds: 240 });
  const connection = tracker.begin(sandbox);
  await clock.advance(10 * minute + 1);
  expect(writes()).toBe(11);
  connection[Symbol.dispose]();
  await clock.advance(10 * minute);
  expect(writes()).toBe(12);
  expect(tracker.size).toBe(0);
});

test("records use soon enough after the idle window has become shorter", async () => {
  const { clock, server, tracker, written, sandbox } = await setUp({ suspendAfterSeconds: 3600 });
  tracker.touch(sandbox);
  await clock.advance(1000);
  tracker.touch(sandbox);
  const patch = { type: "merge", body: { spec: { idlePolicy: { suspendAfterSeconds: 10 } } } } as const;
  await createClient(server).patch(sandboxes, { namespace: "default", name: "box" }, patch);
  tracker.changed(sandbox.metadata.uid ?? "");
  await clock.advance(5000);
  tracker.touch(sandbox);
  await clock.advance(2500);
  expect(Date.parse(written() ?? "")).toBeGreaterThanOrEqual(clock.date() - 2500);
});

test.for<[string, IdlePolicy, number]>([
  ["counts", { suspendAfterSeconds: 240 }, 11],
  ["counts", { suspendAfterSeconds: 240, connections: "KeepAwake" }, 11],
  ["does not count", { suspendAfterSeconds: 240, connections: "MaySleep" }, 1],
])("a silent connection %s as use with the policy %j", async ([, policy, expected]) => {
  const { clock, tracker, writes, sandbox } = await setUp(policy);
  const connection = tracker.begin(sandbox);
  connection.becomeConnection();
  await clock.advance(10 * minute + 1);
  expect(writes()).toBe(expected);
});

describe("a silent connection that does not count as use", () => {
  const maySleep = { suspendAfterSeconds: 240, connections: "MaySleep" } as const;
  const key = { namespace: "default", name: "box" };

  test("counts when something is transferred", async () => {
    const { clock, tracker, writes, written, sandbox } = await setUp(maySleep);
    using connection = tracker.begin(sandbox);
    connection.becomeConnection();
    await clock.advance(10 * minute);
    connection.touch();
    await clock.advance(1);
    expect(Date.parse(written() ?? "")).toBe(clock.date() - 1);
    await clock.advance(10 * minute);
    expect(writes()).toBe(2);
  });

  test("is not recorded when it ends, which would wake a sandbox that is asleep, and is forgotten", async () => {
    const { clock, tracker, writes, sandbox } = await setUp(maySleep);
    const connection = tracker.begin(sandbox);
    connection.becomeConnection();
    await clock.advance(10 * minute);
    connection[Symbol.dispose]();
    await clock.advance(10 * minute);
    expect([writes(), tracker.size]).toEqual([1, 0]);
  });

  test("counts again when the policy changes", async () => {
    const { clock, server, tracker, writes, sandbox } = await setUp(maySleep);
    using connection = tracker.begin(sandbox);
    connection.becomeConnection();
    await clock.advance(10 * minute);
    const patch = { type: "merge", body: { spec: { idlePolicy: { connections: "KeepAwake" } } } } as const;
    await createClient(server).patch(sandboxes, key, patch);
    const before = writes();
    tracker.changed(sandbox.metadata.uid ?? "");
    await clock.advance(2 * minute + 1);
    expect(writes() - before).toBe(3);
  });

  test("does not keep a sandbox in use that its author suspended, whatever the policy", async () => {
    const { clock, server, tracker, writes, sandbox } = await setUp({ suspendAfterSeconds: 240 });
    using connection = tracker.begin(sandbox);
    connection.becomeConnection();
    await clock.advance(1);
    await createClient(server).patch(sandboxes, key, { type: "merge", body: { spec: { operatingMode: "Suspended" } } });
    const before = writes();
    await clock.advance(10 * minute);
    expect(writes() - before).toBe(0);
  });
});

test("writes the last use even when it fell within a quarter that had its write", async () => {
  const { clock, tracker, written, sandbox } = await setUp({ deleteAfterSeconds: 240 });
  tracker.touch(sandbox);
  await clock.advance(30_000);
  tracker.touch(sandbox);
  await clock.advance(minute);
  expect(Date.parse(written() ?? "")).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 1) + 30_000);
});

test("an open connection counts from the moment a sandbox gets an idle policy", async () => {
  const { clock, server, tracker, writes, sandbox } = await setUp(undefined);
  using _connection = tracker.begin(sandbox);
  await clock.advance(10 * minute);
  expect(writes()).toBe(0);
  const patch = { type: "merge", body: { spec: { idlePolicy: { suspendAfterSeconds: 240 } } } } as const;
  await createClient(server).patch(sandboxes, { namespace: "default", name: "box" }, patch);
  const before = writes();
  tracker.changed(sandbox.metadata.uid ?? "");
  await clock.advance(2 * minute + 1);
  expect(writes() - before).toBe(3);
});

test.for(["soon", "2099-01-01T00:00:00Z", ""])(
  "an annotation of %j does not keep activity from being recorded",
  async (text) => {
    const { clock, server, tracker, written, sandbox } = await setUp({ suspendAfterSeconds: 240 });
    const body = { metadata: { annotations: { [lastActivityAnnotation]: text } } };
    await createClient(server).patch(sandboxes, { namespace: "default", name: "box" }, { type: "merge", body });
    tracker.touch(sandbox);
    await clock.advance(1);
    expect(written()).toBe("2026-01-01T00:00:00.000Z");
  },
);

test("writes nothing for a sandbox that never gets idle", async () => {
  const { clock, tracker, writes, sandbox } = await setUp(undefined);
  tracker.begin(sandbox)[Symbol.dispose]();
  await clock.advance(10 * minute);
  expect([writes(), tracker.size]).toEqual([0, 0]);
});

test("tries again when the API server fails, and forgets a sandbox that is gone", async () => {
  const { clock, server, tracker, writes, sandbox } = await setUp({ suspendAfterSeconds: 240 });
  let failures = 2;
  server.onRequest = () => ((failures -= 1) >= 0 ? { refuse: { reason: "InternalError" } } : undefined);
  tracker.touch(sandbox);
  await clock.advance(5000);
  expect(writes()).toBe(1);
  await createClient(server).delete(sandboxes, { namespace: "default", name: "box" });
  tracker.touch(sandbox);
  await clock.advance(10 * minute);
  expect([writes(), tracker.size]).toEqual([1, 0]);
});
