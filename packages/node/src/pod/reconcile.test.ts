import type { Pod, PodStatus } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { NodeError } from "../errors.ts";
import type { Action, Life, Observed } from "./decide.ts";
import { type Ports, reconcile } from "./reconcile.ts";
import type { PodRecord } from "./record.ts";
import type { Problem } from "./status.ts";

const uid = "u-1";
const pod: Pod = {
  metadata: { name: "p", namespace: "n", uid },
  spec: { containers: [{ name: "main", image: "host" }] },
};
const run = { process: { pid: 7, start: 70 }, monitor: { pid: 6, start: 60 }, startedAt: 0, started: true };
const fresh: PodRecord = {
  version: 1,
  uid,
  namespace: "n",
  name: "p",
  address: "10.0.0.2",
  image: "i",
  startTime: 0,
  prepared: true,
  containers: {},
};

/** A machine of one Pod, on which every action does what it says. */
class FakePorts implements Ports {
  readonly done: string[] = [];
  readonly reported: PodStatus[] = [];
  readonly warned: Problem[] = [];
  pod: Pod | undefined = pod;
  record: PodRecord | undefined;
  life: Life = { alive: true };
  fails: Error | undefined;

  observe(): Promise<Observed> {
    const lives = this.record?.containers["main"]?.run === undefined ? {} : { main: this.life };
    return Promise.resolve({ pod: this.pod, record: this.record, lives, hostAddress: "192.0.2.1", runtimes: ["runc"] });
  }

  perform(action: Action): Promise<void> {
    this.done.push(action.do);
    if (this.fails !== undefined) return Promise.reject(this.fails);
    if (action.do === "set-up") this.record = fresh;
    if (action.do === "start-container")
      this.record = { ...fresh, containers: { main: { attempt: action.attempt, runtime: "runc", run } } };
    if (action.do === "tear-down") this.record = undefined;
    if (action.do === "delete-from-api") this.pod = undefined;
    return Promise.resolve();
  }

  report(_pod: Pod, status: PodStatus): Promise<void> {
    this.reported.push(status);
    return Promise.resolve();
  }

  warn(_pod: Pod, problem: Problem): void {
    this.warned.push(problem);
  }

  now(): number {
    return 5000;
  }
}

describe("reconcile()", () => {
  test("brings a new Pod to rest and reports once", async () => {
    const ports = new FakePorts();
    expect(await reconcile(uid, ports)).toBeUndefined();
    expect(ports.done).toEqual(["set-up", "start-container"]);
    expect(ports.reported.map(({ phase }) => phase)).toEqual(["Running"]);
  });

  test("does not repeat a signal at once; it looks again a second later", async () => {
    const ports = new FakePorts();
    ports.pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "x", deletionGracePeriodSeconds: 0 } };
    ports.record = { ...fresh, containers: { main: { attempt: 0, runtime: "runc", run } } };
    expect(await reconcile(uid, ports)).toBe(6000);
    expect([ports.done, ports.reported]).toEqual([["signal"], []]);
  });

  test("takes a Pod down and lets the API forget it, without a report", async () => {
    const ports = new FakePorts();
    ports.pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "x" } };
    ports.record = fresh;
    expect(await reconcile(uid, ports)).toBeUndefined();
    expect([ports.done, ports.reported]).toEqual([["tear-down", "delete-from-api"], []]);
  });

  test("reports why a start failed, tells people, and fails itself to be called again", async () => {
    const ports = new FakePorts();
    ports.fails = new NodeError("ErrImagePull", "Cannot pull");
    await expect(reconcile(uid, ports)).rejects.toBe(ports.fails);
    expect(ports.warned).toEqual([{ reason: "ErrImagePull", message: "Cannot pull" }]);
    expect(ports.reported).toMatchObject([
      {
        phase: "Pending",
        containerStatuses: [{ state: { waiting: { reason: "ErrImagePull", message: "Cannot pull" } } }],
      },
    ]);
  });

  test("does not spin on actions that never take effect", async () => {
    const ports = new FakePorts();
    let attempt = 0;
    ports.perform = (action) => {
      ports.done.push(action.do);
      attempt += 1;
      ports.record = { ...fresh, containers: { main: { attempt, runtime: "runc" } } };
      return Promise.resolve();
    };
    await expect(reconcile(uid, ports)).rejects.toThrow("still busy after 10 rounds");
  });
});
