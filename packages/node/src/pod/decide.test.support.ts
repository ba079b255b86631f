import type { Pod } from "@agent-sandbox/api";
import { kubeletBackoff } from "./backoff.ts";
import type { Observed } from "./decide.ts";
import type { RunState } from "./observed.ts";
import type { ContainerRecord, PodRecord, Termination } from "./record.ts";

export const second: number = 1000;
export const started: number = 100 * second;
const uid = "u-1";

export function podOf(
  over: { metadata?: Pod["metadata"]; spec?: Partial<Pod["spec"]>; status?: Pod["status"] } = {},
): Pod {
  return {
    metadata: { name: "p", namespace: "n", uid, resourceVersion: "1", ...over.metadata },
    spec: { containers: [{ name: "main", image: "host" }], ...over.spec },
    ...(over.status !== undefined && { status: over.status }),
  };
}

export const recordOf = (main?: ContainerRecord, over: Partial<PodRecord> = {}): PodRecord => ({
  version: 1,
  uid,
  namespace: "n",
  name: "p",
  address: "10.0.0.2",
  startTime: started,
  prepared: true,
  sourcesVersion: "",
  containers: main === undefined ? {} : { main },
  ...over,
});

export const run: NonNullable<ContainerRecord["run"]> = {
  process: { pid: 7, start: 70 },
  monitor: { pid: 6, start: 60 },
  startedAt: started,
  started: true,
};
export const running: ContainerRecord = { attempt: 0, runtime: "runc", image: "host-1", run };
export const ended = (exitCode: number, over: Partial<Termination> = {}): Termination => ({
  id: "u-1_main_0",
  exitCode,
  reason: exitCode === 0 ? "Completed" : "Error",
  startedAt: started,
  finishedAt: started + 5 * second,
  ...over,
});
export const crashed: ContainerRecord = {
  ...running,
  ended: ended(1),
  backoff: { delayMs: 10 * second, since: started + 5 * second },
};
export const alive: RunState = { alive: true };
export const dead = (code: number, outOfMemory = false): RunState => ({
  alive: false,
  exit: { code, finishedAt: started + 5 * second, outOfMemory },
});
export const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 };

export const rules: Observed["rules"] = {
  runtimes: ["runc"],
  allowedRuntimes: ["runc"],
  defaultRuntime: "runc",
  ownUsers: [],
  ownKernels: [],
  canSave: ["gvisor"],
  allow: { privileged: false, hostPaths: [], hostUsers: false },
  backoff: kubeletBackoff,
};

export const observed = (pod: Pod | undefined, record?: PodRecord, main?: RunState): Observed => ({
  pod,
  record,
  runs: main === undefined ? {} : { main },
  hostAddress: "192.0.2.1",
  rules,
  health: {},
  tasks: { "pull:main": { state: "done" } },
  sourcesVersion: "",
});
export const stopping = (over: object = {}): ContainerRecord => ({
  ...running,
  stopping: { since: 10 * second, graceMs: 30 * second, because: "deleted", ...over },
});
