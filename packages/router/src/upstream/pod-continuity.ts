import {
  continuesEpoch,
  controllerOf,
  coreGroup,
  findCondition,
  type Pod,
  refersToKind,
  restoreAnnotation,
  restoredCondition,
  type Sandbox,
  savedEpoch,
  sleepReason,
} from "@agent-sandbox/api";
import { objectKey } from "@agent-sandbox/kube";
import type { Directory } from "../cluster/directory.ts";
import { isOver } from "../cluster/is-over.ts";
import { isAlive } from "../cluster/target.ts";

/** Connections that are kept by the UID of their pod. */
export interface PodConnections {
  /**
   * Closes the connections to a pod whose memory is lost. `restored` is given if another pod is being restored from an earlier
   * image of that memory: its ends of the connections can be reset only after that.
   */
  drop(podUid: string, restored?: Promise<void>): void;
  /** The memory of the pod, and with it the other end of each connection, continues in another pod. */
  move(podUid: string, to: string): void;
}

interface SavedPod {
  readonly sandboxUid: string;
  readonly epoch: number;
  readonly watch: Disposable;
  /** Of a pod whose connections are dropped: settled when the next pod is restored from an earlier image, or has failed. */
  restored?: PromiseWithResolvers<void>;
}

/** Successors are only needed for connections that are opened while their pod is saved and restored. */
const maxSuccessors = 1000;

/**
 * Decides what happens to the connections of a pod that is gone. If the pod's memory was saved, they are kept until the
 * memory continues in another pod of the same Sandbox, or is lost. Otherwise they are closed.
 */
export class PodContinuity implements Disposable {
  readonly #directory: Directory;
  readonly #requests: PodConnections[] = [];
  readonly #streams: PodConnections[] = [];
  readonly #saved = new Map<string, SavedPod>();
  readonly #successors = new Map<string, string>();
  readonly #subscription: Disposable;

  constructor(directory: Directory) {
    this.#directory = directory;
    this.#subscription = directory.onPodGone((uid, pod) => this.#gone(uid, pod));
  }

  /** Manages connections with requests that wait for a response. */
  manageRequests(connections: PodConnections): void {
    this.#requests.push(connections);
  }

  /** Manages connections that may be silent for any time. */
  manageStreams(connections: PodConnections): void {
    this.#streams.push(connections);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    for (const { watch, restored } of this.#saved.values()) {
      watch[Symbol.dispose]();
      restored?.resolve();
    }
    this.#saved.clear();
  }

  /** The UID of the pod in which the memory of this pod continues; its own if there is none. */
  successorOf(podUid: string): string {
    let current = podUid;
    for (let next = this.#successors.get(current); next !== undefined; next = this.#successors.get(current)) {
      current = next;
    }
    return current;
  }

  /** Whether the pod is gone and its memory is saved. */
  isSaved(podUid: string): boolean {
    return this.#saved.has(podUid);
  }

  #gone(podUid: string, pod: Pod | undefined): void {
    const directory = this.#directory;
    const epoch = pod && savedEpoch(pod);
    const sandbox = pod && sandboxOf(pod, directory);
    if (epoch === undefined || sandbox?.metadata.uid === undefined || isOver(sandbox)) {
      return this.#drop(podUid);
    }
    // A response that only comes when somebody resumes the Sandbox is not worth the wait.
    if (sleepReason(sandbox) === "spec") for (const connections of this.#requests) connections.drop(podUid);
    const watch = directory.watch(objectKey(sandbox), () => this.#check(podUid));
    this.#saved.set(podUid, { sandboxUid: sandbox.metadata.uid, epoch, watch });
    this.#check(podUid);
  }

  #check(podUid: string): void {
    const saved = this.#saved.get(podUid);
    if (saved === undefined) return;
    const directory = this.#directory;
    const sandbox = directory.sandboxByUid(saved.sandboxUid);
    const pod = sandbox && directory.podsOf(sandbox).find((each) => each.metadata?.uid !== podUid && isAlive(each));
    const isLost = sandbox === undefined || isOver(sandbox);
    const isContinued = pod && continuesEpoch(pod, saved.epoch);
    if (!isLost && saved.restored === undefined && isContinued === undefined) return;
    if (!isLost && pod !== undefined && isBeingRestored(pod)) {
      if (saved.restored === undefined) this.#drop(podUid, (saved.restored = Promise.withResolvers<void>()).promise);
      return;
    }
    saved.watch[Symbol.dispose]();
    this.#saved.delete(podUid);
    const successor = isLost || isContinued !== true ? undefined : pod?.metadata?.uid;
    if (saved.restored !== undefined) saved.restored.resolve();
    else if (successor === undefined) this.#drop(podUid);
    else {
      this.#remember(podUid, successor);
      for (const connections of this.#all()) connections.move(podUid, successor);
    }
  }

  #drop(podUid: string, restored?: Promise<void>): void {
    for (const connections of this.#all()) connections.drop(podUid, restored);
  }

  #all(): PodConnections[] {
    return [...this.#requests, ...this.#streams];
  }

  #remember(podUid: string, successor: string): void {
    for (const oldest of this.#successors.keys()) {
      if (this.#successors.size < maxSuccessors) break;
      this.#successors.delete(oldest);
    }
    this.#successors.set(podUid, successor);
  }
}

/** Whether the pod is restored from an image, and the driver has not answered yet. */
function isBeingRestored({ metadata, status }: Pod): boolean {
  const isWanted = metadata?.annotations?.[restoreAnnotation] !== undefined;
  return isWanted && findCondition(status?.conditions, restoredCondition) === undefined;
}

function sandboxOf(pod: Pod, directory: Directory): Sandbox | undefined {
  const owner = controllerOf(pod);
  const isOwned = owner !== undefined && refersToKind(owner, { group: coreGroup, kind: "Sandbox" });
  const sandbox = isOwned ? directory.sandboxByUid(owner.uid) : undefined;
  return sandbox?.metadata.namespace === pod.metadata?.namespace ? sandbox : undefined;
}
