import {
  isBeingSaved,
  isConditionTrue,
  type Pod,
  type Sandbox,
  sleepReason,
  suspendDepthAnnotation,
  wakeBy,
} from "@agent-sandbox/api";
import { type FairShare, keyOf } from "@agent-sandbox/kube";
import type { Directory } from "../cluster/directory.ts";
import type { Target } from "../cluster/target.ts";
import { RouterError } from "../router-error.ts";
import { readAheadBytes, type WaitQueue } from "../wake/wait-queue.ts";
import type { Waker } from "../wake/waker.ts";
import type { Closed, Splice } from "./splice.ts";

/** Limits on connections that are kept while their sandbox is asleep. Those above a limit are closed when it falls asleep. */
export interface SleepingLimits {
  readonly perSandbox: number;
  /** Shared fairly by the namespaces. */
  readonly total: number;
}

export interface PodSplicesOptions {
  readonly directory: Directory;
  readonly waker: Waker;
  /** Bytes that are held for a sandbox count like a request that waits for it. */
  readonly queue: WaitQueue;
  /** Connections that are kept while their sandbox is asleep. */
  readonly sleeping: FairShare;
  readonly sleepingPerSandbox: number;
  /** Whether the pod is gone and its memory is saved. */
  readonly isSaved: boolean;
  /** Called when the last connection is closed. */
  readonly onEmpty: (pod: PodSplices) => void;
}

/**
 * The spliced connections of one pod. If the pod's memory is saved when it is suspended, they stay open while the sandbox is
 * asleep. A byte from a client wakes it, under the same rules as a request, and is held until the memory is restored and
 * the pod is ready.
 */
export class PodSplices {
  podUid: string;
  readonly #sandbox: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly #options: PodSplicesOptions;
  readonly #watch: Disposable;
  readonly #members = new Set<Splice>();
  /** The connections that count towards the limits of sleeping ones. */
  readonly #sleeping = new Set<Splice>();
  readonly #places = new Map<Splice, Disposable>();
  #keepsMemory: boolean;
  #isAsleep = false;
  #isGone = false;

  constructor(podUid: string, { sandbox }: Target, options: PodSplicesOptions) {
    const { namespace = "", name = "", uid = "" } = sandbox.metadata;
    this.podUid = podUid;
    this.#sandbox = { namespace, name, uid };
    this.#options = options;
    this.#keepsMemory = options.isSaved;
    this.#watch = options.directory.watch(keyOf({ namespace, name }), () => this.update());
    this.update();
  }

  /** Whether the pod ended, and its memory with it, before its connections were joined. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get size(): number {
    return this.#members.size;
  }

  get members(): ReadonlySet<Splice> {
    return this.#members;
  }

  add(splice: Splice): void {
    this.#members.add(splice);
    splice.onHeld = () => this.#held(splice);
    void splice.released.then(() => this.#remove(splice));
    if (this.#isAsleep) this.#keep(splice);
  }

  /** Takes over the connections of another pod, whose memory continues in this one. */
  adopt(other: PodSplices): void {
    for (const splice of other.#members) {
      other.#remove(splice);
      this.add(splice);
      if (!this.#isAsleep) splice.wake();
      else if (splice.isHolding) this.#held(splice);
    }
  }

  /** Compares the objects of the cluster with what is known about the pod. */
  update(): void {
    const sandbox = this.#options.directory.sandboxByUid(this.#sandbox.uid);
    // The end of the pod closes the connections.
    if (sandbox === undefined) return;
    const pod = this.#options.directory.podsOf(sandbox).find(({ metadata }) => metadata?.uid === this.podUid);
    this.#isGone = pod === undefined && !this.#keepsMemory;
    if (pod !== undefined) this.#keepsMemory = pod.metadata?.annotations?.[suspendDepthAnnotation] === "Memory";
    if (this.#keepsMemory && isStopped(sandbox, pod)) this.#sleep();
    else if (this.#isAsleep && pod !== undefined && isConditionTrue(pod.status?.conditions, "Ready")) this.#wake();
    if (this.#places.size > 0) this.#wakeSandbox(sandbox);
  }

  close(why: Closed, restored?: Promise<void>): void {
    for (const splice of this.#members) splice.close(why, restored);
  }

  #sleep(): void {
    if (this.#isAsleep) return;
    this.#isAsleep = true;
    for (const splice of this.#members) this.#keep(splice);
  }

  #wake(): void {
    this.#isAsleep = false;
    this.#options.waker.settled(this.#sandbox.uid);
    for (const splice of this.#members) {
      this.#forget(splice);
      splice.wake();
    }
  }

  /** Keeps the connection while the sandbox is asleep, unless there are too many. */
  #keep(splice: Splice): void {
    const { sleeping, sleepingPerSandbox } = this.#options;
    splice.sleep();
    const mayStay = this.#sleeping.size < sleepingPerSandbox && sleeping.take(this.#sandbox.namespace);
    if (mayStay) this.#sleeping.add(splice);
    else splice.close({ reason: "SandboxLimit", message: "too many connections to sandboxes that are asleep" });
  }

  #forget(splice: Splice): void {
    if (this.#sleeping.delete(splice)) this.#options.sleeping.giveBack(this.#sandbox.namespace);
    this.#places.get(splice)?.[Symbol.dispose]();
    this.#places.delete(splice);
  }

  #remove(splice: Splice): void {
    this.#forget(splice);
    if (!this.#members.delete(splice) || this.#members.size > 0) return;
    this.#watch[Symbol.dispose]();
    this.#options.onEmpty(this);
  }

  #held(splice: Splice): void {
    if (this.#places.has(splice)) return;
    try {
      this.#places.set(splice, this.#options.queue.add(this.#sandbox, readAheadBytes));
      this.update();
    } catch (error) {
      splice.close(closedBy(error));
    }
  }

  /** A sandbox that traffic may not wake stays asleep, and the bytes are held until somebody resumes it. */
  #wakeSandbox(sandbox: Sandbox): void {
    const by = wakeBy(sandbox);
    if (by === undefined) return;
    try {
      this.#options.waker.wake(sandbox, by);
    } catch (error) {
      for (const splice of this.#places.keys()) splice.close(closedBy(error));
    }
  }
}

/** Whether the pod has stopped, or is about to. */
function isStopped(sandbox: Sandbox, pod: Pod | undefined): boolean {
  return sleepReason(sandbox) !== undefined || pod === undefined || isBeingSaved(pod);
}

function closedBy(error: unknown): Closed {
  if (!(error instanceof RouterError)) throw error;
  return { reason: error.reason, message: "the sandbox cannot be woken" };
}
