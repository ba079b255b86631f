import {
  type Pod,
  restoreAnnotation,
  type Sandbox,
  sandboxClaims,
  sandboxes,
  sandboxNameHashLabel,
  saveAnnotation,
} from "@agent-sandbox/api";
import { type Client, createClient, Informers, silentLogger } from "@agent-sandbox/kube";
import { MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Directory } from "../cluster/directory.ts";
import { pods } from "../cluster/resources.ts";
import { PodContinuity } from "./pod-continuity.ts";

const key = { namespace: "default", name: "box" };

/** A Sandbox whose Pods the test creates and removes, and the calls that the connections to them got. */
class World implements Disposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly client: Client;
  readonly continuity: PodContinuity;
  readonly calls: string[] = [];
  readonly #stack = new DisposableStack();
  readonly #names = new Map<string, string>();

  constructor() {
    const resources = [{ ...sandboxes, status: true }, sandboxClaims, { ...pods, status: true }];
    const server = new MemoryApiServer({ resources, scheduler: this.clock });
    this.client = createClient(server, { clock: this.clock });
    const informers = new Informers({ client: this.client, log: silentLogger, scheduler: this.clock });
    this.#stack.defer(() => void informers[Symbol.asyncDispose]());
    const directory = this.#stack.use(new Directory({ informers, isShared: false, claims: true }));
    this.continuity = this.#stack.use(new PodContinuity(directory));
    const connections = (kind: string) => ({
      drop: (uid: string, restored?: Promise<void>) => {
        this.calls.push(`drop ${kind} of ${this.nameOf(uid)}`);
        void restored?.then(() => this.calls.push(`reset ${kind} of ${this.nameOf(uid)}`));
      },
      move: (uid: string, to: string) =>
        void this.calls.push(`move ${kind} of ${this.nameOf(uid)} to ${this.nameOf(to)}`),
    });
    this.continuity.manageRequests(connections("requests"));
    this.continuity.manageStreams(connections("streams"));
  }

  [Symbol.dispose](): void {
    this.#stack.dispose();
  }

  nameOf(uid: string): string {
    return this.#names.get(uid) ?? uid;
  }

  async sandbox(spec: Partial<Sandbox["spec"]> = {}): Promise<Sandbox> {
    const created = await this.client.create(sandboxes, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: key,
      spec: { podTemplate: { spec: { containers: [] } }, ...spec },
    });
    await this.clock.advance(1);
    return created;
  }

  /** Creates the Sandbox's Pod. `label` is its name in `calls`. */
  async pod(
    label: string,
    sandbox: Sandbox,
    annotations = {},
    conditions: Record<string, string> = {},
  ): Promise<string> {
    const owner = { apiVersion: sandbox.apiVersion, kind: "Sandbox", name: "box", controller: true };
    const ownerReferences = [{ ...owner, uid: sandbox.metadata.uid ?? "" }];
    const labels = { [sandboxNameHashLabel]: "hash" };
    const created = await this.client.create(pods, { metadata: { ...key, labels, annotations, ownerReferences } });
    const uid = created.metadata?.uid ?? "";
    this.#names.set(uid, label);
    await this.report(conditions);
    return uid;
  }

  async report(conditions: Record<string, string>): Promise<void> {
    const status: Pod["status"] = {
      phase: "Running",
      conditions: Object.entries(conditions).map(([type, value]) => ({ type, status: value })),
    };
    await this.client.patch(pods, key, { type: "merge", body: { status } }, { subresource: "status" });
    await this.clock.advance(1);
  }

  async remove(): Promise<void> {
    await this.client.delete(pods, key);
    await this.clock.advance(1);
  }
}

let world: World;
beforeEach(async () => {
  world = new World();
  await world.clock.advance(1);
});
afterEach(() => world[Symbol.dispose]());

const saved = { "agents.x-k8s.io/Saved": "True" };
const save = (epoch: number) => ({ [saveAnnotation]: String(epoch) });
const restore = (epoch: number) => ({ [restoreAnnotation]: `suspension/${epoch}` });

describe("the connections of a pod that is gone", () => {
  test("are closed if it was not saved", async () => {
    await world.pod("first", await world.sandbox(), save(0));
    await world.remove();
    expect(world.calls).toEqual(["drop requests of first", "drop streams of first"]);
  });

  test("move to the pod that continues its memory, once that is restored", async () => {
    const sandbox = await world.sandbox();
    const first = await world.pod("first", sandbox, save(0), saved);
    await world.remove();
    expect([world.calls, world.continuity.isSaved(first)]).toEqual([[], true]);
    const second = await world.pod("second", sandbox, restore(0));
    expect(world.calls).toEqual([]);
    await world.report({ PodRestored: "True" });
    expect(world.calls).toEqual(["move requests of first to second", "move streams of first to second"]);
    expect([world.continuity.isSaved(first), world.continuity.successorOf(first)]).toEqual([false, second]);
  });

  test("can be followed over several pods", async () => {
    const sandbox = await world.sandbox();
    const first = await world.pod("first", sandbox, save(0), saved);
    await world.remove();
    await world.pod("second", sandbox, { ...restore(0), ...save(1) }, { PodRestored: "True", ...saved });
    await world.remove();
    const third = await world.pod("third", sandbox, restore(1), { PodRestored: "True" });
    expect(world.continuity.successorOf(first)).toBe(third);
  });

  test.for(["True", "False"])("are closed at a rollback, and reset once it is answered with %s", async (answer) => {
    const sandbox = await world.sandbox();
    await world.pod("first", sandbox, save(0), saved);
    await world.remove();
    await world.pod("second", sandbox, { [restoreAnnotation]: "snapshot/0123" });
    expect(world.calls).toEqual(["drop requests of first", "drop streams of first"]);
    await world.report({ PodRestored: answer });
    expect(world.calls.slice(2)).toEqual(["reset requests of first", "reset streams of first"]);
  });

  test("are reset when the pod of a rollback is gone before it is restored", async () => {
    const sandbox = await world.sandbox();
    await world.pod("first", sandbox, save(0), saved);
    await world.remove();
    await world.pod("second", sandbox, { [restoreAnnotation]: "snapshot/0123" });
    await world.remove();
    expect(world.calls).toEqual(expect.arrayContaining(["reset requests of first", "reset streams of first"]));
  });

  test("are closed at once if the next pod starts from its files", async () => {
    const sandbox = await world.sandbox();
    await world.pod("first", sandbox, save(0), saved);
    await world.remove();
    await world.pod("second", sandbox);
    expect(world.calls).toEqual(["drop requests of first", "drop streams of first"]);
  });

  test("are closed when the Sandbox expires while it sleeps", async () => {
    const sandbox = await world.sandbox();
    await world.pod("first", sandbox, save(0), saved);
    await world.remove();
    const expired = { type: "Ready", status: "False", reason: "SandboxExpired", message: "", lastTransitionTime: "" };
    const patch = { type: "merge", body: { status: { conditions: [expired] } } } as const;
    await world.client.patch(sandboxes, key, patch, { subresource: "status" });
    await world.clock.advance(1);
    expect(world.calls).toEqual(["drop requests of first", "drop streams of first"]);
  });

  test("are closed for requests if its author suspended it, because nothing would resume it for them", async () => {
    await world.pod("first", await world.sandbox({ operatingMode: "Suspended" }), save(0), saved);
    await world.remove();
    expect(world.calls).toEqual(["drop requests of first"]);
  });
});
