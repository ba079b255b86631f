import { describe, expect, test } from "vitest";
import { createClient } from "../client/create-client.ts";
import type { KubeObject, Resource } from "../resource.ts";
import { MemoryApiServer, VirtualClock } from "../testing/index.ts";
import { EventRecorder, type EventRecorderOptions } from "./event-recorder.ts";
import { type EventRecord, type KubeEvent, kubeEvents } from "./kube-event.ts";

const pods: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
const pod = (name: string): KubeObject => ({
  metadata: { name, namespace: "a", uid: `uid-${name}`, resourceVersion: "7" },
});
const failed: EventRecord = { type: "Warning", reason: "PullFailed", action: "Pull", text: "no such image" };

interface Rig {
  readonly clock: VirtualClock;
  readonly server: MemoryApiServer;
  readonly recorder: EventRecorder;
  readonly events: () => KubeEvent[];
}

function openRig(options: Partial<EventRecorderOptions> = {}): Rig {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ resources: [kubeEvents], scheduler: clock });
  const client = createClient(server, { clock, random: () => 0 });
  let draws = 0;
  const random = (): number => (draws += 1) / 1000;
  const identity = { controller: "pod-controller", instance: "host-1" };
  const recorder = new EventRecorder({ client, ...identity, scheduler: clock, random, ...options });
  return { clock, server, recorder, events: () => server.readAll(kubeEvents) };
}

describe("EventRecorder", () => {
  test("writes an event as events.k8s.io wants it", async () => {
    const { clock, recorder, events } = openRig();
    recorder.record(pods, pod("web"), failed);
    await clock.advance(0);
    const [event] = events();
    expect(event).toMatchObject({
      metadata: { namespace: "a", name: expect.stringMatching(/^web\.[0-9a-f]+$/) },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "pod-controller",
      reportingInstance: "host-1",
      type: "Warning",
      reason: "PullFailed",
      action: "Pull",
      note: "no such image",
      regarding: { apiVersion: "v1", kind: "Pod", name: "web", namespace: "a", uid: "uid-web", resourceVersion: "7" },
    });
    expect(event?.series).toBeUndefined();
  });

  test("delays Normal events, which keep their time, but not Warning events", async () => {
    const { clock, recorder, events } = openRig({ normalAfterMs: 100 });
    recorder.record(pods, pod("web"), { ...failed, type: "Normal", reason: "Pulled" });
    recorder.record(pods, pod("web"), failed);
    await clock.advance(99);
    expect(events().map(({ reason }) => reason)).toEqual(["PullFailed"]);
    await clock.advance(1);
    expect(events().find(({ reason }) => reason === "Pulled")?.eventTime).toBe("2026-01-01T00:00:00.000000Z");
  });

  test("groups repeated events into one series, written at most every 10 s", async () => {
    const { clock, server, recorder, events } = openRig();
    for (let second = 0; second < 60; second += 1) {
      recorder.record(pods, pod("web"), { ...failed, text: `attempt ${second}` });
      await clock.advance(1_000);
    }
    await clock.advance(10_000);
    expect(events()).toHaveLength(1);
    expect(events()[0]?.series).toEqual({ count: 60, lastObservedTime: "2026-01-01T00:00:59.000000Z" });
    expect(server.requests.get("patch events")).toBeLessThanOrEqual(7);
  });

  test("keeps separate series for the parts of an object", async () => {
    const { clock, recorder, events } = openRig();
    for (const part of ["spec.containers{a}", "spec.containers{b}", "spec.containers{a}"]) {
      recorder.record(pods, pod("web"), { ...failed, fieldPath: part });
    }
    await clock.advance(10_000);
    expect(events().map(({ regarding, series }) => [regarding.fieldPath, series?.count])).toEqual([
      ["spec.containers{a}", 2],
      ["spec.containers{b}", undefined],
    ]);
  });

  test("keeps separate events for different reasons and for repeats after a long pause", async () => {
    const { clock, recorder, events } = openRig();
    recorder.record(pods, pod("web"), failed);
    recorder.record(pods, pod("web"), { ...failed, reason: "Evicted" });
    await clock.advance(400_000);
    recorder.record(pods, pod("web"), failed);
    await clock.advance(0);
    expect(
      events()
        .map(({ reason }) => reason)
        .sort(),
    ).toEqual(["Evicted", "PullFailed", "PullFailed"]);
  });

  test("limits an object with too many different events, and no other", async () => {
    const { clock, recorder, events } = openRig();
    for (let n = 0; n < 40; n += 1) recorder.record(pods, pod("noisy"), { ...failed, reason: `Reason${n}` });
    recorder.record(pods, pod("quiet"), failed);
    await clock.advance(0);
    expect(events()).toHaveLength(26);
    expect(recorder.dropped).toBe(15);
    await clock.advance(300_000);
    recorder.record(pods, pod("noisy"), { ...failed, reason: "OneMore" });
    await clock.advance(0);
    expect(events()).toHaveLength(27);
  });

  test("writes an event once although responses are lost and the server is unreachable for a while", async () => {
    const { clock, server, recorder, events } = openRig();
    let requests = 0;
    server.onRequest = () => ({ reset: (requests += 1) % 2 === 0 ? "before" : "after" });
    recorder.record(pods, pod("web"), failed);
    await clock.advance(1_500);
    server.onRequest = undefined;
    await clock.advance(10_000);
    expect(events()).toHaveLength(1);
    expect(recorder.dropped).toBe(0);
  });

  test("drops events that the server rejects, and continues", async () => {
    const { clock, server, recorder, events } = openRig();
    server.onRequest = () => ({ refuse: { reason: "InternalError" } });
    recorder.record(pods, pod("web"), failed);
    await clock.advance(60_000);
    server.onRequest = undefined;
    recorder.record(pods, pod("db"), failed);
    await clock.advance(60_000);
    expect(recorder.dropped).toBe(1);
    expect(events().map(({ regarding }) => regarding.name)).toEqual(["db"]);
  });

  test("creates the event again when it has expired on the server", async () => {
    const { clock, server, recorder, events } = openRig();
    recorder.record(pods, pod("web"), failed);
    await clock.advance(0);
    const { name = "", namespace = "" } = events()[0]?.metadata ?? {};
    await createClient(server).delete(kubeEvents, { name, namespace });
    recorder.record(pods, pod("web"), failed);
    await clock.advance(60_000);
    expect(events()[0]?.series?.count).toBe(2);
  });

  test("keeps a limited number of series", async () => {
    const { clock, server, recorder } = openRig({ mostSeries: 10 });
    server.onRequest = () => ({ delayMs: 1_000_000 });
    for (let n = 0; n < 100; n += 1) recorder.record(pods, pod(`pod-${n}`), failed);
    expect(recorder.dropped).toBe(90);
    const stopping = recorder[Symbol.asyncDispose]();
    await clock.advance(5_000);
    await stopping;
    expect(recorder.dropped).toBe(100);
  });

  test("writes the remaining events when it stops, and accepts no more", async () => {
    const { clock, server, recorder, events } = openRig();
    recorder.record(pods, pod("web"), failed);
    await clock.advance(0);
    recorder.record(pods, pod("web"), failed);
    await recorder[Symbol.asyncDispose]();
    expect(events()[0]?.series?.count).toBe(2);
    recorder.record(pods, pod("db"), failed);
    expect(recorder.dropped).toBe(1);
    expect(server.requests.get("create events")).toBe(1);
  });

  test("truncates a long description at a character boundary", async () => {
    const { clock, recorder, events } = openRig();
    recorder.record(pods, pod("web"), { ...failed, text: "é".repeat(2_000) });
    await clock.advance(0);
    expect(events()[0]?.note).toBe("é".repeat(512));
  });
});
