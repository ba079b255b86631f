import {
  claimUidLabel,
  findCondition,
  isBeingSaved,
  isConditionTrue,
  isControlledBy,
  type Pod,
  type Sandbox,
  type SandboxClaim,
  sleepReason,
  type WakeBy,
  wakeBy,
  warmPoolSandboxLabel,
} from "@agent-sandbox/api";
import { mayBePodIp, normaliseIp } from "../route/pod-ip.ts";
import type { Route } from "../route/route.ts";
import type { RouterReason } from "../router-error.ts";
import { epochOf } from "./epoch.ts";
import { type Problem, podProblem, sandboxProblem } from "./pod-problem.ts";
import { addressesOf, isAlive, type Target } from "./target.ts";

/** The objects of the cluster, from the caches. */
export interface ClusterView {
  sandbox(namespace: string, name: string): Sandbox | undefined;
  sandboxByUid(uid: string): Sandbox | undefined;
  claim(namespace: string, name: string): SandboxClaim | undefined;
  /** The Pods of the Sandbox's own namespace that it controls, without those known to be gone. */
  podsOf(sandbox: Sandbox): readonly Pod[];
}

/**
 * - `ready`: the request can be sent.
 * - `asleep`: it must be woken, and its policy allows traffic to do so.
 * - `starting`: it will become ready; `problem` says what delays it.
 * - `pending`: the claim of that name has no Sandbox yet.
 * - `closed`: the request is refused, because waiting does not help.
 */
export type Resolution =
  | { readonly state: "ready"; readonly sandbox: Sandbox; readonly target: Target }
  | { readonly state: "asleep"; readonly sandbox: Sandbox; readonly by: WakeBy }
  | { readonly state: "starting"; readonly sandbox: Sandbox; readonly problem: Problem | undefined }
  | { readonly state: "pending" }
  | {
      readonly state: "closed";
      readonly sandbox: Sandbox | undefined;
      readonly reason: RouterReason;
      readonly message: string;
    };

/** Where a request for this route goes now. Names and UIDs decide, never an address. */
export function resolve(route: Route, view: ClusterView): Resolution {
  const found = findSandbox(route, view);
  if (found === "pending") return { state: "pending" };
  if (found === undefined) return closed(undefined, "SandboxNotFound", `Sandbox not found: ${route.name}`);
  return resolveSandbox(found, route, view);
}

/** The Sandbox that a route names, in any state. `pending` if the claim of that name has no Sandbox yet. */
export function findSandbox(route: Route, view: ClusterView): Sandbox | "pending" | undefined {
  const { namespace, name, uid } = route;
  const byName = view.sandbox(namespace, name);
  if (uid !== undefined) {
    // With its UID, a pool member that is not claimed yet can be reached too.
    const byUid = view.sandboxByUid(uid);
    const named = byUid === byName ? byUid : claimed(view.claim(namespace, name), view);
    return byUid !== undefined && named === byUid ? byUid : undefined;
  }
  if (byName !== undefined && byName.metadata.labels?.[warmPoolSandboxLabel] === undefined) return byName;
  const claim = view.claim(namespace, name);
  return claim === undefined ? undefined : (claimed(claim, view) ?? "pending");
}

function claimed(claim: SandboxClaim | undefined, view: ClusterView): Sandbox | undefined {
  const { namespace = "", uid } = claim?.metadata ?? {};
  const name = claim?.status?.sandbox?.name;
  const sandbox = name === undefined ? undefined : view.sandbox(namespace, name);
  if (sandbox === undefined || uid === undefined) return undefined;
  const isHeld = isControlledBy(sandbox, uid) || sandbox.metadata.labels?.[claimUidLabel] === uid;
  return isHeld ? sandbox : undefined;
}

function resolveSandbox(sandbox: Sandbox, route: Route, view: ClusterView): Resolution {
  const { metadata, status } = sandbox;
  if (metadata.deletionTimestamp !== undefined) {
    return closed(sandbox, "SandboxNotFound", `Sandbox is being deleted: ${route.name}`);
  }
  if (findCondition(status?.conditions, "Ready")?.reason === "SandboxExpired") {
    return closed(sandbox, "SandboxExpired", `Sandbox has expired: ${route.name}`);
  }
  // The pod of a sandbox that is asleep may still exist, but it is about to be deleted.
  if (sleepReason(sandbox) !== undefined) {
    const by = wakeBy(sandbox);
    return by === undefined ? suspended(sandbox, route) : { state: "asleep", sandbox, by };
  }
  const pods = view.podsOf(sandbox);
  const ready = pods.find((pod) => isAlive(pod) && isReady(pod));
  const target = ready && targetOf(sandbox, ready, route);
  if (target !== undefined) return { state: "ready", sandbox, target };
  return startingOrEnded(sandbox, pods, route);
}

function startingOrEnded(sandbox: Sandbox, pods: readonly Pod[], route: Route): Resolution {
  const alive = pods.find(isAlive);
  const ended = alive === undefined && pods.some(isFinal);
  if (ended || isConditionTrue(sandbox.status?.conditions, "Finished")) {
    return closed(sandbox, "SandboxFinished", `Sandbox has finished: ${route.name}`);
  }
  const problem = (alive && podProblem(alive)) ?? sandboxProblem(sandbox);
  if (problem?.final !== true) return { state: "starting", sandbox, problem };
  return closed(sandbox, problem.reason, `Sandbox cannot start: ${route.name}: ${problem.message}`);
}

/** The driver's report that a Pod is not ready may come later than the request to save it. */
function isReady(pod: Pod): boolean {
  return isConditionTrue(pod.status?.conditions, "Ready") && !isBeingSaved(pod);
}

/** Whether no other Pod will follow one that is not alive. The processes of a Pod that was saved have ended, to be continued. */
function isFinal(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp === undefined && !isBeingSaved(pod);
}

function targetOf(sandbox: Sandbox, pod: Pod, route: Route): Target | undefined {
  const { uid, name, namespace = route.namespace } = pod.metadata ?? {};
  const addresses = addressesOf(pod).filter(mayBePodIp);
  const ip = addresses.find((address) => normaliseIp(address) === route.podIp) ?? addresses[0];
  if (uid === undefined || name === undefined || ip === undefined) return undefined;
  return { sandbox, podUid: uid, podName: name, namespace, ip, port: route.port, epoch: epochOf(sandbox, pod) };
}

function suspended(sandbox: Sandbox, route: Route): Resolution {
  const message = `Sandbox is suspended and traffic may not resume it: ${route.name}`;
  return closed(sandbox, "SandboxSuspended", message);
}

function closed(sandbox: Sandbox | undefined, reason: RouterReason, message: string): Resolution {
  return { state: "closed", sandbox, reason, message };
}
