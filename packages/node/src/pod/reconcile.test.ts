import type { Pod, PodStatus } from "@agent-sandbox/api";
import { type EventRecord, type Pass, type Result, silentLogger } from "@agent-sandbox/kube";
import { VirtualClock } from "@agent-sandbox/kube/testing";
import { describe, expect, test } from "vitest";
import { NodeError } from "../errors.ts";
import { kubeletBackoff } from "./backoff.ts";
import type { Action, Observed } from "./decide.ts";
import type { NodeRules, RunState, TaskState } from "./observed.ts";
import { type Ports, podReconciler } from "./reconcile.ts";
import type { ContainerRecord, PodRecord } from "./record.ts";

const uid = "u-1";
const pod: Pod = {
  metadata: { name: "p", namespace: "n", uid },
  spec: { containers: [{ name: "main", image: "host" }] },
};
const rules: NodeRules = {
  runtimes: ["runc"],
  allowedRuntimes: ["runc"],
  defaultRuntime: "runc",
  ownUsers: ["gvisor"],
  ownKernels: ["gvisor"],
  canSave: ["gvisor"],
  allow: { privileged: false, hostPaths: [], hostUsers: false },
  backoff: kubeletBackoff,
};
const run = { process: { pid: 7, start: 70 }, monitor: { pid: 6, start: 60 }, startedAt: 0, started: true };
const fresh: PodRecord = {
  version: 1,
  uid,
  namespace: "n",
  name: "p",
  address: "10.0.0.2",
  startTime: 0,
  prepared: true,
  sourcesVersion: "",
  containers: {},
};

/** A fake machine with one Pod, on which every action succeeds at once. */
class FakePorts implements Ports {
  readonly done: string[] = [];
  readonly reported: PodStatus[] = [];
  readonly warned: string[] = [];
  pod: Pod | undefined = pod;
  record: PodRecord | undefined;
  state: RunState = { alive: true };
  tasks: Record<string, TaskState> = {};
  fails: Error | undefined;

  observe(): Promise<Observed> {
    const runs = this.record?.containers["main"]?.run === undefined ? {} : { main: this.state };
    return Promise.resolve({
      pod: this.pod,
      record: this.record,
      runs,
      hostAddress: "192.0.2.1",
      rules,
      health: {},
      tasks: this.tasks,
      sourcesVersion: "",
    });
  }

  perform(action: Action): Promise<void> {
    this.done.push(action.do);
    if (this.fails !== undefined && (action.do === "set-up" || action.do === "start-container"))
      return Promise.reject(this.fails);
    if (action.do === "set-up") this.record = fresh;
    if (action.do === "pull-image") this.tasks = { "pull:main": { state: "done" } };
    if (action.do === "stop-container") this.#keep({ stopping: { since: 5000, graceMs: 0, because: "deleted" } });
    if (action.do === "record-failure") this.#keep({ failure: { ...action.problem, at: 5000, tries: 1 } });
    if (action.do === "start-container")
      this.record = { ...fresh, containers: { main: { attempt: action.attempt, runtime: "runc", run } } };
    if (action.do === "tear-down") this.record = undefined;
    if (action.do === "delete-from-api") this.pod = undefined;
    return Promise.resolve();
  }

  #keep(part: Partial<ContainerRecord>): void {
    const main = { ...(this.record?.containers["main"] ?? { attempt: 0, runtime: "runc" }), ...part };
    this.record = { ...fresh, containers: { main } };
  }

  report(_pod: Pod, status: PodStatus): Promise<void> {
    this.reported.push(status);
    return Promise.resolve();
  }

  recordEvent(_pod: Pod, { reason, text }: EventRecord): void {
    this.warned.push(`${reason}: ${text}`);
  }

  now(): number {
    return 5000;
  }
}

function reconcile(ports: Ports): Promise<Result | void> {
  return podReconciler(ports, new VirtualClock())(`n/${uid}`, { log: silentLogger } as Pass);
}

describe("podReconciler()", () => {
  test("starts a new Pod and writes its status once", async () => {
    const ports = new FakePorts();
    expect(await reconcile(ports)).toBeUndefined();
    expect(ports.done).toEqual(["set-up", "pull-image", "start-container"]);
    expect(ports.reported.map(({ phase }) => phase)).toEqual(["Running"]);
  });

  test("does not repeat a signal, and checks again after a second", async () => {
    const ports = new FakePorts();
    ports.pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "x", deletionGracePeriodSeconds: 0 } };
    ports.record = { ...fresh, containers: { main: { attempt: 0, runtime: "runc", run } } };
    expect(await reconcile(ports)).toEqual({ requeueAfterMs: 1000 });
    expect([ports.done, ports.reported]).toEqual([["stop-container", "signal"], []]);
  });

  test("tears a deleted Pod down and deletes it from the API without a status write", async () => {
    const ports = new FakePorts();
    ports.pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "x" } };
    ports.record = fresh;
    expect(await reconcile(ports)).toBeUndefined();
    expect([ports.done, ports.reported]).toEqual([["tear-down", "delete-from-api"], []]);
  });

  test("reports a failed setup in the status and an event, and throws", async () => {
    const ports = new FakePorts();
    ports.fails = new NodeError("FailedMount", "no such object");
    await expect(reconcile(ports)).rejects.toBe(ports.fails);
    expect(ports.warned).toEqual(["FailedMount: no such object"]);
    expect(ports.reported).toMatchObject([
      {
        phase: "Pending",
        containerStatuses: [{ state: { waiting: { reason: "ContainerCreating", message: "no such object" } } }],
      },
    ]);
  });

  test("records why a container could not start, and requeues", async () => {
    const ports = new FakePorts();
    ports.record = fresh;
    ports.fails = new NodeError("CreateContainerError", "no such program");
    expect(await reconcile(ports)).toEqual({ requeueAfterMs: 1000 });
    expect(ports.done).toEqual(["pull-image", "start-container", "record-failure"]);
    expect(ports.reported).toMatchObject([
      {
        phase: "Pending",
        containerStatuses: [{ state: { waiting: { reason: "CreateContainerError", message: "no such program" } } }],
      },
    ]);
  });

  test("gives up after too many rounds", async () => {
    const ports = new FakePorts();
    let attempt = 0;
    ports.tasks = { "pull:main": { state: "done" } };
    ports.perform = (action) => {
      ports.done.push(action.do);
      attempt += 1;
      ports.record = { ...fresh, containers: { main: { attempt, runtime: "runc" } } };
      return Promise.resolve();
    };
    await expect(reconcile(ports)).rejects.toThrow("after 300 rounds it still needs");
  });
});
