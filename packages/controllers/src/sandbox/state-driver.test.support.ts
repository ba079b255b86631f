import {
  epochAnnotation,
  formatSavedMessage,
  type Pod,
  parseImageReference,
  restoreAnnotation,
  restoredCondition,
  saveAnnotation,
  saveableCondition,
  savedCondition,
  suspendDepthAnnotation,
} from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import { pods } from "../child-caches.ts";
import { namespace, type SandboxWorld } from "./sandbox-world.test.support.ts";

/** An answer that is not True. */
export interface Refused {
  readonly reason: string;
  readonly message: string;
}

type PodCondition = { type: string; status: string; reason?: string; message?: string };

/** What runs in a Pod: how many Pods have continued it so far. */
interface Memory {
  readonly lives: number;
}

/**
 * A node with a state driver. It starts, saves, restores and ends Pods, and keeps the memory of each one, so that a test can
 * compare what runs with what was saved.
 */
export class StateDriver {
  /** Saved memory by Sandbox UID and epoch. It can be restored until a Pod that was restored from it has run. */
  readonly images: Map<string, Memory> = new Map();
  readonly snapshots: Map<string, Memory> = new Map();
  /** What runs, by Pod UID. */
  readonly running: Map<string, Memory> = new Map();
  /** Sandboxes that were started from their files although they had run before. */
  readonly losses: string[] = [];
  readonly #known = new Set<string>();
  /** Answers that are not True. */
  unsaveable: Refused | undefined;
  failsToSave: Refused | undefined;
  failsToRestore: Refused | undefined;
  /** How long each step takes; undefined: the driver does not answer. */
  delayMs: () => number | undefined = () => 100;
  readonly #world: SandboxWorld;

  constructor(world: SandboxWorld) {
    this.#world = world;
    world.server.onChange(({ resource, object, previous, gone }) => {
      if (resource.plural !== "pods") return;
      if (gone) this.running.delete(object.metadata?.uid ?? "");
      else this.#follow(object as Pod, previous as Pod | undefined);
    });
  }

  #follow(pod: Pod, before: Pod | undefined): void {
    if (before === undefined) this.#later(pod, (now) => this.#start(now));
    else if (pod.metadata?.deletionTimestamp !== undefined && before.metadata?.deletionTimestamp === undefined) {
      this.#later(pod, (now) => this.#end(now));
    } else if (requestOf(pod) !== requestOf(before)) {
      this.#later(pod, (now) => (requestOf(now) === undefined ? this.#forget(now) : this.#save(now)));
    }
  }

  #later(pod: Pod, work: (pod: Pod) => Promise<unknown>): void {
    const delayMs = this.delayMs();
    if (delayMs === undefined) return;
    const { name = "", uid } = pod.metadata ?? {};
    this.#world.clock.schedule(delayMs, () => {
      const now = this.#world.pod(name);
      if (now?.metadata?.uid === uid && now !== undefined) void work(now).catch(ignoreGone);
    });
  }

  async #start(pod: Pod): Promise<void> {
    if (pod.metadata?.deletionTimestamp !== undefined) return;
    const image = this.#imageOf(pod);
    const wantsRestore = pod.metadata?.annotations?.[restoreAnnotation] !== undefined;
    if (wantsRestore && (image === undefined || this.failsToRestore !== undefined)) {
      const refused = this.failsToRestore ?? { reason: "ImageMissing", message: "no such image" };
      return this.#report(pod, { phase: "Pending" }, [{ type: restoredCondition, status: "False", ...refused }]);
    }
    const owner = pod.metadata?.ownerReferences?.[0]?.uid ?? "";
    if (image === undefined && this.#known.has(owner)) this.losses.push(pod.metadata?.name ?? "");
    this.#known.add(owner);
    this.running.set(pod.metadata?.uid ?? "", { lives: (image?.lives ?? 0) + 1 });
    this.images.delete(imageKey(pod, pod.metadata?.annotations?.[restoreAnnotation]));
    const wantsSaves = pod.metadata?.annotations?.[suspendDepthAnnotation] === "Memory";
    const saveable = { type: saveableCondition, status: this.unsaveable ? "False" : "True", ...this.unsaveable };
    return this.#report(pod, { phase: "Running", podIPs: [{ ip: "10.0.0.2" }] }, [
      { type: "Ready", status: "True" },
      ...(wantsSaves ? [saveable] : []),
      ...(wantsRestore ? [{ type: restoredCondition, status: "True" }] : []),
    ]);
  }

  #imageOf(pod: Pod): Memory | undefined {
    const written = pod.metadata?.annotations?.[restoreAnnotation];
    const image = parseImageReference(written ?? "");
    return image?.type === "snapshot" ? this.snapshots.get(image.uid) : this.images.get(imageKey(pod, written));
  }

  async #save(pod: Pod): Promise<void> {
    const { uid = "", deletionTimestamp } = pod.metadata ?? {};
    const memory = this.running.get(uid);
    if (memory === undefined || deletionTimestamp !== undefined) return;
    if (this.failsToSave !== undefined) {
      return this.#report(pod, {}, [{ type: savedCondition, status: "False", ...this.failsToSave }]);
    }
    this.images.set(imageKey(pod, `suspension/${requestOf(pod)}`), memory);
    this.running.delete(uid);
    return this.#report(pod, {}, [
      { type: "Ready", status: "False" },
      { type: savedCondition, status: "True", message: formatSavedMessage(4096) },
    ]);
  }

  async #forget(pod: Pod): Promise<void> {
    const conditions = (pod.status?.conditions ?? []).filter(({ type }) => type !== savedCondition);
    await this.#write(pod, { conditions });
  }

  async #end(pod: Pod): Promise<void> {
    const { name = "", uid = "" } = pod.metadata ?? {};
    await this.#world.user.delete(pods, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
  }

  async #report(pod: Pod, status: object, changed: readonly PodCondition[]): Promise<void> {
    const types = new Set(["PodScheduled", ...changed.map(({ type }) => type)]);
    const others = (pod.status?.conditions ?? []).filter(({ type }) => !types.has(type));
    await this.#write(pod, {
      ...status,
      conditions: [{ type: "PodScheduled", status: "True" }, ...others, ...changed],
    });
  }

  async #write(pod: Pod, status: object): Promise<void> {
    const { name = "", uid = "" } = pod.metadata ?? {};
    const patch = { type: "merge", body: { status }, preconditions: { uid } } as const;
    await this.#world.user.patch(pods, { namespace, name }, patch, { subresource: "status" });
  }
}

/** The annotations of a Pod that the controller writes for the driver, without their prefix. */
export function driverAnnotations(pod: Pod | undefined): Record<string, string> {
  const keys = [suspendDepthAnnotation, saveAnnotation, restoreAnnotation, epochAnnotation];
  const { annotations = {} } = pod?.metadata ?? {};
  const written = keys.filter((key) => annotations[key] !== undefined);
  return Object.fromEntries(written.map((key) => [key.replace("agents.x-k8s.io/", ""), annotations[key] ?? ""]));
}

function requestOf({ metadata }: Pod): string | undefined {
  return metadata?.annotations?.[saveAnnotation];
}

function imageKey({ metadata }: Pod, reference: string | undefined): string {
  return `${metadata?.ownerReferences?.[0]?.uid} ${reference}`;
}

function ignoreGone(error: unknown): void {
  if (!isReason(error, "NotFound", "Conflict")) throw error;
}
