import {
  epochAnnotation,
  lastActivityAnnotation,
  restoreAnnotation,
  type Sandbox,
  sandboxes,
  saveAnnotation,
  suspendDepthAnnotation,
} from "@agent-sandbox/api";
import { pods } from "./cluster/resources.ts";
import type { TestCluster } from "./cluster.test.support.ts";

export interface SavedSandboxOptions {
  readonly cluster: TestCluster;
  readonly name: string;
  readonly ip: string;
  readonly spec?: Partial<Sandbox["spec"]>;
}

/** What the next pod of a Sandbox reports. */
export interface Restored {
  /** Default: the image of the last suspension. */
  readonly from?: string | undefined;
  /** The condition `PodRestored`. Default `True`. */
  readonly status?: string | undefined;
  readonly ready?: boolean;
}

/**
 * A Sandbox with depth Memory, and the parts of its controller and its node. The program "in" the pod is the test's own server,
 * which keeps its sockets and reads nothing while the pod is not there.
 */
export class SavedSandbox {
  readonly #options: SavedSandboxOptions;
  #object: Sandbox | undefined;
  #epoch = 0;

  private constructor(options: SavedSandboxOptions) {
    this.#options = options;
  }

  static async create(options: SavedSandboxOptions): Promise<SavedSandbox> {
    const saved = new SavedSandbox(options);
    const { cluster, name, ip, spec } = options;
    const idlePolicy = { suspendAfterSeconds: 600, connections: "MaySleep" } as const;
    const own = { idlePolicy, suspendPolicy: { depth: "Memory" }, ...spec } as const;
    saved.#object = await cluster.sandbox(name, { spec: own });
    await cluster.pod(saved.object, ip, { annotations: { [suspendDepthAnnotation]: "Memory" } });
    return saved;
  }

  get object(): Sandbox {
    if (this.#object === undefined) throw new Error("The Sandbox was not created");
    return this.#object;
  }

  get #key() {
    return { namespace: "default", name: this.#options.name };
  }

  /** When activity was last recorded. It changes when the router wakes the Sandbox. */
  get activity(): string | undefined {
    return this.#options.cluster.api.read(sandboxes, this.#key)?.metadata.annotations?.[lastActivityAnnotation];
  }

  /** Marks it as idle, based on the activity that is recorded. */
  async markIdle(): Promise<void> {
    const at = this.activity;
    await this.#options.cluster.suspendIdle(this.object);
    if (at !== undefined) await this.#options.cluster.sandboxStatus(this.object, { lastActivityTime: at });
  }

  async askToSave(): Promise<void> {
    const body = { metadata: { annotations: { [saveAnnotation]: String(this.#epoch) } } };
    await this.#options.cluster.client.patch(pods, this.#key, { type: "merge", body });
  }

  /** The node's answer. */
  async reportSaved(status: "True" | "False"): Promise<void> {
    const ready = status === "True" ? "False" : "True";
    const conditions = [
      { type: "Ready", status: ready },
      { type: "agents.x-k8s.io/Saved", status },
    ];
    const patch = { type: "merge", body: { status: { conditions } } } as const;
    await this.#options.cluster.client.patch(pods, this.#key, patch, { subresource: "status" });
  }

  async removePod(): Promise<void> {
    await this.#options.cluster.removePod(this.#options.name);
  }

  /** All steps from an idle Sandbox to one without a pod. */
  async fallAsleep(): Promise<void> {
    await this.markIdle();
    await this.askToSave();
    await this.reportSaved("True");
    await this.removePod();
  }

  /** The pod that continues, by default with the memory that was saved. */
  async resume({ from, status = "True", ready = true }: Restored = {}): Promise<void> {
    const { cluster, ip } = this.#options;
    const image = from ?? `suspension/${this.#epoch}`;
    this.#epoch += 1;
    const restore = image === "" ? {} : { [restoreAnnotation]: image, [epochAnnotation]: String(this.#epoch) };
    const annotations = { [suspendDepthAnnotation]: "Memory", ...restore };
    await cluster.pod(this.object, ip, { annotations, ready: false });
    const conditions = [
      { type: "Ready", status: ready && status === "True" ? "True" : "False" },
      ...(image === "" ? [] : [{ type: "PodRestored", status }]),
    ];
    const patch = { type: "merge", body: { status: { conditions } } } as const;
    await cluster.client.patch(pods, this.#key, patch, { subresource: "status" });
  }

  /** Resumes it as soon as activity is recorded that is newer than the one it fell asleep on, as the controller does. */
  async resumeWhenWoken(restored?: Restored): Promise<void> {
    const before = this.activity;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => (this.activity === before ? undefined : resolve());
    this.#options.cluster.api.onChange(look);
    look();
    await promise;
    await this.resume(restored);
  }
}
