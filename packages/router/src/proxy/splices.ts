import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { FairShare } from "@agent-sandbox/kube";
import type { SandboxUse } from "../activity/activity-tracker.ts";
import type { Target } from "../cluster/target.ts";
import type { EarlyBytes } from "../request/early-bytes.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";
import type { PodConnections, PodContinuity } from "../upstream/pod-continuity.ts";
import type { Backlog } from "./backlog.ts";
import { PodSplices, type PodSplicesOptions, type SleepingLimits } from "./pod-splices.ts";
import { type Closed, Splice } from "./splice.ts";

/** The client's end of a splice: its stream, the bytes that it sent before the splice, and its log record. */
export interface SplicedClient {
  readonly stream: Duplex;
  readonly early: EarlyBytes;
  readonly record: AccessRecord;
}

export interface SplicesOptions extends Pick<PodSplicesOptions, "directory" | "waker" | "queue"> {
  readonly backlog: Backlog;
  readonly continuity: PodContinuity;
  readonly limits: SleepingLimits;
}

export interface JoinOptions {
  readonly target: Target;
  readonly use: SandboxUse;
  readonly isWebSocket?: boolean;
}

/** The spliced connections, so that they can be kept or closed when their pod is gone, and closed when the router stops. */
export class Splices implements PodConnections {
  readonly #byPod = new Map<string, PodSplices>();
  readonly #options: SplicesOptions;
  readonly #sleeping: FairShare;
  #isLeaving = false;

  constructor(options: SplicesOptions) {
    this.#options = options;
    this.#sleeping = new FairShare(options.limits.total);
  }

  get size(): number {
    let size = 0;
    for (const joined of this.#byPod.values()) size += joined.size;
    return size;
  }

  /** The number of connections to sandboxes that are asleep. */
  get sleeping(): number {
    return this.#sleeping.taken;
  }

  /** Copies in both directions, the client's early bytes first. Resolves when the splice has ended for the client. */
  async join({ stream, early, record }: SplicedClient, sandbox: Socket, options: JoinOptions): Promise<void> {
    const { target, use, isWebSocket = false } = options;
    const { backlog } = this.#options;
    for (const end of [stream, sandbox]) backlog.assign(end, target.namespace);
    const onBytes = (count: number): void => {
      record.bytesOut += count;
    };
    use.becomeConnection();
    const splice = new Splice(stream, sandbox, { backlog, isWebSocket, onBytes, onTransfer: () => use.touch() });
    const pod = this.#podOf(target);
    pod.add(splice);
    if (pod.isGone) splice.destroy();
    else splice.start(early.release());
    if (this.#isLeaving) splice.leave();
    const closed = await splice.ended;
    if (closed !== undefined) record.reason = closed.reason;
  }

  drop(podUid: string, restored?: Promise<void>): void {
    const why: Closed = { reason: "SandboxStopped", message: "the sandbox was stopped or restarted" };
    this.#byPod.get(podUid)?.close(why, restored);
  }

  move(podUid: string, to: string): void {
    const moved = this.#byPod.get(podUid);
    if (moved === undefined) return;
    this.#byPod.delete(podUid);
    const there = this.#byPod.get(to);
    if (there !== undefined) return there.adopt(moved);
    moved.podUid = to;
    this.#byPod.set(to, moved);
    moved.update();
  }

  /** Sends a close frame to all WebSockets. */
  leave(): void {
    this.#isLeaving = true;
    for (const splice of this.#all()) splice.leave();
  }

  destroy(): void {
    for (const splice of this.#all()) splice.destroy();
  }

  #all(): Splice[] {
    return [...this.#byPod.values()].flatMap(({ members }) => [...members]);
  }

  #podOf(target: Target): PodSplices {
    const { continuity, limits } = this.#options;
    const podUid = continuity.successorOf(target.podUid);
    const known = this.#byPod.get(podUid);
    if (known !== undefined) return known;
    const pod = new PodSplices(podUid, target, {
      ...this.#options,
      isSaved: continuity.isSaved(podUid),
      sleeping: this.#sleeping,
      sleepingPerSandbox: limits.perSandbox,
      onEmpty: (empty) => this.#byPod.get(empty.podUid) === empty && this.#byPod.delete(empty.podUid),
    });
    this.#byPod.set(podUid, pod);
    return pod;
  }
}
