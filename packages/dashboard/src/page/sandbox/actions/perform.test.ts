import type { Sandbox, SandboxSnapshot } from "@agent-sandbox/api";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ApiClient, ApiError, type ObjectName } from "../../data/api-client.ts";
import { type KubeObject, type Resource, sandboxClaims, sandboxes, sandboxSnapshots } from "../../data/resources.ts";
import { extend, fork, remove, resume, suspend, type Task, takeSnapshot } from "./perform.ts";

/** Keeps objects by kind and name, and what was asked for. `onRead` changes an object before it is read, or refuses. */
class FakeApi {
  readonly objects = new Map<string, KubeObject>();
  readonly patches: { readonly kind: string; readonly name: string; readonly body: unknown }[] = [];
  readonly deleted: string[] = [];
  onRead: (key: string, times: number) => void = () => undefined;
  readonly #reads = new Map<string, number>();

  async get(resource: Resource<KubeObject>, { name }: ObjectName): Promise<KubeObject> {
    const key = keyOf(resource, name);
    this.#reads.set(key, (this.#reads.get(key) ?? 0) + 1);
    this.onRead(key, this.#reads.get(key) ?? 0);
    const found = this.objects.get(key);
    if (found === undefined) throw new ApiError(404, "NotFound", `${name} not found`);
    return found;
  }

  async list(
    resource: Resource<KubeObject>,
    { fieldSelector = "" }: { fieldSelector?: string },
  ): Promise<{ items: readonly KubeObject[] }> {
    const name = fieldSelector.replace("metadata.name=", "");
    const found = await this.get(resource, { name }).catch(() => undefined);
    return { items: found === undefined ? [] : [found] };
  }

  async create(resource: Resource<KubeObject>, object: KubeObject): Promise<KubeObject> {
    const name = object.metadata?.name ?? "";
    const made = { ...object, metadata: { ...object.metadata, uid: `uid-of-${name}` } };
    this.objects.set(keyOf(resource, name), made);
    return made;
  }

  async patch({ kind }: Resource<KubeObject>, { name }: ObjectName, body: object): Promise<void> {
    this.patches.push({ kind, name, body });
  }

  async delete(resource: Resource<KubeObject>, { name }: ObjectName, { uid }: { uid?: string } = {}): Promise<void> {
    this.deleted.push(`${keyOf(resource, name)} ${uid}`);
    this.objects.delete(keyOf(resource, name));
  }
}

const keyOf = ({ kind }: Resource<unknown>, name: string): string => `${kind} ${name}`;
const condition = (type: string, status: "True" | "False", reason = "", message = "") => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

const sandbox: Sandbox = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "a", namespace: "default", uid: "uid-of-a" },
  spec: { podTemplate: { spec: { containers: [] } } },
};
const owner = {
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxClaim",
  name: "c",
  uid: "uid-of-c",
  controller: true,
};

let api: FakeApi;
let task: Task;
beforeEach(() => {
  vi.useFakeTimers();
  api = new FakeApi();
  api.objects.set("Sandbox a", sandbox);
  task = { api: api as unknown as ApiClient, sandbox, onProgress: () => undefined };
});
afterEach(() => void vi.useRealTimers());

/** Lets more time pass than an action may take. Returns why it failed. */
async function outcomeOf(action: Promise<unknown>): Promise<string> {
  const ended = action.then(
    () => "done",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  await vi.advanceTimersByTimeAsync(longerThanAllowed);
  return ended;
}

const longerThanAllowed = 400_000;

function report(key: string, ...conditions: readonly object[]): void {
  const { metadata, ...rest } = api.objects.get(key) as Sandbox & SandboxSnapshot;
  api.objects.set(key, { ...rest, metadata, status: { ...rest.status, conditions } } as KubeObject);
}

test.for([
  ["suspends", suspend, "Suspended", "Suspended"],
  ["resumes", resume, "Ready", "Running"],
] as const)("%s only the sandbox that was shown", async ([, action, type, operatingMode]) => {
  api.onRead = (_, times) => times === 2 && report("Sandbox a", condition(type, "True"));
  expect(await outcomeOf(action(task))).toBe("done");
  expect(api.patches).toHaveLength(1);
  expect(api.patches[0]?.body).toMatchObject({ metadata: { uid: "uid-of-a" }, spec: { operatingMode } });
});

test("does not take another sandbox of the same name for the suspended one", async () => {
  api.onRead = () => {
    api.objects.set("Sandbox a", { ...sandbox, metadata: { ...sandbox.metadata, uid: "another" } });
    report("Sandbox a", condition("Suspended", "True"));
  };
  expect(await outcomeOf(suspend(task))).toBe("It was deleted, and a new sandbox has its name");
});

test("changes the lifetime only of the sandbox or the claim that was shown", async () => {
  await extend(task, "t", undefined);
  const claimed = { ...sandbox, metadata: { ...sandbox.metadata, ownerReferences: [owner] } };
  await extend({ ...task, sandbox: claimed }, "t", undefined);
  const fields = { shutdownTime: "t", shutdownPolicy: "Delete" };
  expect(api.patches).toEqual([
    { kind: sandboxes.kind, name: "a", body: { metadata: { uid: "uid-of-a" }, spec: fields } },
    { kind: sandboxClaims.kind, name: "c", body: { metadata: { uid: "uid-of-c" }, spec: { lifecycle: fields } } },
  ]);
});

test("goes on while the server cannot be reached", async () => {
  const progress: string[] = [];
  api.onRead = (_, times) => {
    if (times === 1) throw new TypeError("Failed to fetch");
    if (times === 2) throw new ApiError(503, "ServiceUnavailable", "starting");
    report("Sandbox a", condition("Suspended", "True"));
  };
  expect(await outcomeOf(suspend({ ...task, onProgress: (text) => progress.push(text) }))).toBe("done");
  expect(progress).toEqual(["waiting for the server", "waiting for the server"]);
});

test("ends when the sandbox was deleted meanwhile, or may not be read", async () => {
  api.onRead = () => api.objects.delete("Sandbox a");
  expect(await outcomeOf(suspend(task))).toBe("a not found");
});

test("is done when the sandbox is gone, also if another has its name", async () => {
  expect(await outcomeOf(remove(task))).toBe("done");
  expect(api.deleted).toEqual(["Sandbox a uid-of-a"]);
  api.onRead = () => api.objects.set("Sandbox a", { ...sandbox, metadata: { name: "a", uid: "newer" } });
  expect(await outcomeOf(remove(task))).toBe("done");
});

test("removes a snapshot that could not be taken, and only that one", async () => {
  api.onRead = (key) => report(key, condition("Failed", "True", "NoSpace", "the disk is full"));
  expect(await outcomeOf(takeSnapshot(task, { name: "s" }))).toBe("It could not be taken: the disk is full");
  expect(api.deleted).toEqual(["SandboxSnapshot s uid-of-s"]);
});

test("keeps a snapshot that takes long, or that cannot be read", async () => {
  expect(await outcomeOf(takeSnapshot(task, { name: "slow" }))).toMatch(/^It takes longer than five minutes/);
  api.onRead = () => {
    throw new ApiError(401, "Unauthorized", "the session has ended");
  };
  expect(await outcomeOf(takeSnapshot(task, { name: "unread" }))).toBe("the session has ended");
  expect([...api.objects.keys()]).toEqual(["Sandbox a", "SandboxSnapshot slow", "SandboxSnapshot unread"]);
  expect(api.deleted).toEqual([]);
});

/** Snapshots become ready; the fork reports what it is given. */
function forkThatReports(...conditions: readonly object[]): void {
  api.onRead = (key, times) => {
    if (key.startsWith(sandboxSnapshots.kind)) return report(key, condition("Ready", "True"));
    if (key !== "Sandbox b" || times < 2) return;
    const found = api.objects.get(key) as Sandbox;
    const restoredFrom = { name: found.spec.restoreFrom?.snapshotRef.name };
    api.objects.set(key, { ...found, status: { suspension: { restoredFrom } } } as KubeObject);
    report(key, ...conditions);
  };
}

test("deletes the snapshot of a fork that runs", async () => {
  forkThatReports(condition("Ready", "True"));
  expect(await outcomeOf(fork(task, "b"))).toBe("done");
  expect([...api.objects.keys()]).toEqual(["Sandbox a", "Sandbox b"]);
  expect(api.deleted).toEqual([expect.stringMatching(/^SandboxSnapshot a-fork-\w{8} uid-of-a-fork-/)]);
});

test("keeps a fork that takes long, and the snapshot that it needs", async () => {
  forkThatReports(condition("Ready", "False", "", "pulling the image"));
  expect(await outcomeOf(fork(task, "b"))).toBe("It takes longer than five minutes: pulling the image");
  expect([...api.objects.keys()]).toEqual(["Sandbox a", expect.stringMatching(/a-fork-/), "Sandbox b"]);
});

test("removes a fork that was not restored, and its snapshot", async () => {
  const refused = condition("Restored", "False", "SnapshotUnusable", "other CPU");
  api.onRead = (key) => report(key, key === "Sandbox b" ? refused : condition("Ready", "True"));
  expect(await outcomeOf(fork(task, "b"))).toBe("It was not restored: other CPU");
  expect([...api.objects.keys()]).toEqual(["Sandbox a"]);
});
