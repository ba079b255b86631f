import {
  isBeingSaved,
  isConditionTrue,
  isControlledBy,
  isPodOfSandbox,
  type Pod,
  type Sandbox,
  sleepReason,
  suspendAfterMs,
  trackedPodName,
  wakeBy,
} from "@agent-sandbox/api";
import {
  type Index,
  KubeError,
  keyOf,
  objectKey,
  type PodSessions,
  type Scheduler,
  type SessionTarget,
} from "@agent-sandbox/kube";
import type { ActivityTracker } from "../activity/activity-tracker.ts";
import type { Directory } from "../cluster/directory.ts";
import { isOver } from "../cluster/is-over.ts";
import { podProblem } from "../cluster/pod-problem.ts";
import { isAlive } from "../cluster/target.ts";
import { RouterError } from "../router-error.ts";
import { type Check, hold } from "./hold.ts";
import { readAheadBytes, type WaitQueue } from "./wait-queue.ts";
import type { Waker } from "./waker.ts";

export interface SandboxSessionsOptions {
  readonly directory: Directory;
  readonly activity: ActivityTracker;
  readonly queue: WaitQueue;
  readonly waker: Waker;
  readonly scheduler: Scheduler;
  /** How long a session waits for its sandbox to become ready. */
  readonly holdMs: number;
}

const noSession: Disposable = { [Symbol.dispose]: () => undefined };

const podKeys = (sandbox: Sandbox): readonly string[] => [
  keyOf({ namespace: sandbox.metadata.namespace ?? "", name: trackedPodName(sandbox) }),
];

/**
 * Sessions with the Pods of Sandboxes that do not pass through the router, such as `exec`. They count as activity of the
 * Sandbox while they last, and wake one that is asleep, under the same rules and bounds as requests to the router.
 */
export class SandboxSessions implements PodSessions {
  readonly #options: SandboxSessionsOptions;
  readonly #byPod: Index<Sandbox>;

  constructor(options: SandboxSessionsOptions) {
    this.#options = options;
    this.#byPod = options.directory.sandboxInformer.index("router-pod", podKeys);
  }

  async begin(target: SessionTarget, signal: AbortSignal): Promise<Disposable> {
    const { activity } = this.#options;
    const sandbox = this.#sandboxOf(target);
    if (sandbox === undefined) return noSession;
    if (sleepReason(sandbox) === undefined) {
      const pod = target.resource === "pods" ? (target.object as Pod | undefined) : this.#podOf(sandbox);
      if (pod !== undefined && isUsable(pod, target)) return activity.begin(sandbox);
      if (!canSleep(sandbox) || hasEnded(pod)) return noSession;
    } else if (wakeBy(sandbox) === undefined) {
      return noSession;
    }
    const woken = await this.#wait(sandbox, target, signal);
    return woken === undefined ? noSession : activity.begin(woken);
  }

  /** The Sandbox that the target belongs to. A Pod or Service that the Sandbox does not control is not its own. */
  #sandboxOf({ resource, namespace, name, object }: SessionTarget): Sandbox | undefined {
    if (resource === "services") {
      const sandbox = this.#options.directory.sandbox(namespace, name);
      return object !== undefined && isControlledBy(object, sandbox?.metadata.uid) ? sandbox : undefined;
    }
    const candidates = this.#byPod.get(keyOf({ namespace, name }));
    if (object !== undefined) return candidates.find((sandbox) => isPodOfSandbox(sandbox, object as Pod));
    // Of several Sandboxes whose annotations name the same Pod, the one with that name is the likely owner.
    return candidates.find(({ metadata }) => metadata.name === name) ?? candidates[0];
  }

  /** The Sandbox once its Pod can be used; undefined when waiting does not help, and the API server's own answer says why. */
  async #wait(sandbox: Sandbox, target: SessionTarget, signal: AbortSignal): Promise<Sandbox | undefined> {
    const { queue, holdMs } = this.#options;
    const { name = "", namespace = "" } = sandbox.metadata;
    try {
      using _place = queue.add({ namespace, name }, readAheadBytes);
      return await hold(this.#options, {
        key: objectKey(sandbox),
        signal,
        check: () => this.#check(sandbox.metadata.uid ?? "", target),
        timedOut: () =>
          new KubeError("ServiceUnavailable", `sandbox "${name}" is not running after ${holdMs / 1000} s`),
      });
    } catch (error) {
      if (!(error instanceof RouterError)) throw error;
      const reason = error.reason === "TooManyWaitingRequests" ? "TooManyRequests" : "ServiceUnavailable";
      throw new KubeError(reason, error.message, { cause: error });
    }
  }

  #check(uid: string, target: SessionTarget): Check<Sandbox | undefined> {
    const { directory, waker } = this.#options;
    const sandbox = directory.sandboxByUid(uid);
    if (sandbox === undefined || isOver(sandbox)) return { result: undefined };
    if (sleepReason(sandbox) !== undefined) {
      const by = wakeBy(sandbox);
      if (by === undefined) return { result: undefined };
      waker.wake(sandbox, by);
      return { alsoWatch: undefined };
    }
    const pod = this.#podOf(sandbox);
    if (pod === undefined || isTheOldPod(pod, target)) return { alsoWatch: undefined };
    if (isUsable(pod, target)) {
      waker.settled(uid);
      return { result: sandbox };
    }
    return hasEnded(pod) || podProblem(pod)?.final === true ? { result: undefined } : { alsoWatch: undefined };
  }

  #podOf(sandbox: Sandbox): Pod | undefined {
    const own = this.#options.directory.podsOf(sandbox).filter((pod) => isPodOfSandbox(sandbox, pod));
    return own.find(isAlive) ?? own[0];
  }
}

/** A Service forwards to Pods that are ready; a session with a Pod only needs it to run. */
function isUsable(pod: Pod, { resource }: SessionTarget): boolean {
  const isUp = pod.status?.phase === "Running" && !isBeingSaved(pod);
  return isAlive(pod) && isUp && (resource === "pods" || isConditionTrue(pod.status?.conditions, "Ready"));
}

/** The Pod that was being deleted when the session began: the cache may show an earlier state of it. */
function isTheOldPod({ metadata }: Pod, { object }: SessionTarget): boolean {
  const { uid, deletionTimestamp } = object?.metadata ?? {};
  return deletionTimestamp !== undefined && metadata?.uid === uid;
}

function hasEnded(pod: Pod | undefined): boolean {
  if (pod === undefined || pod.metadata?.deletionTimestamp !== undefined || isBeingSaved(pod)) return false;
  return ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
}

/** Only for Sandboxes that sleep is it worth waiting: their Pod is expected to be missing at times. */
const canSleep = (sandbox: Sandbox): boolean =>
  !isOver(sandbox) && (suspendAfterMs(sandbox) !== undefined || sandbox.spec.resumePolicy === "OnTraffic");
