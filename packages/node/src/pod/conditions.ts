import type { Pod, PodCondition } from "@agent-sandbox/api";
import { kubeTime } from "./kube-time.ts";
import type { MemberStatus, Phase } from "./phase.ts";
import { isStateCondition } from "./state-conditions.ts";

export interface ConditionsInput {
  readonly pod: Pod;
  readonly phase: Phase;
  readonly members: readonly MemberStatus[];
  /** The Pod's network and volumes are set up. */
  readonly prepared: boolean;
  readonly isInitialized: boolean;
  /** The Pod is saved or being saved. */
  readonly isBeingSaved: boolean;
  /** The conditions of the state driver: see `state-conditions.ts`. */
  readonly state: readonly PodCondition[];
}

/** The conditions that the node owns, followed by the conditions that others have written. */
export function conditionsFor(input: ConditionsInput, now: number): PodCondition[] {
  const before = input.pod.status?.conditions ?? [];
  const isOver = input.phase === "Succeeded" || input.phase === "Failed";
  const containersReady = containersCondition(input);
  const wanted: PodCondition[] = [
    { type: "PodReadyToStartContainers", status: input.prepared && !isOver ? "True" : "False" },
    { type: "Initialized", ...initialized(input) },
    { type: "Ready", ...gated(input.pod, containersReady) },
    { type: "ContainersReady", ...containersReady },
    { type: "PodScheduled", status: "True" },
    ...input.state,
  ];
  const others = before.filter(({ type }) => !isStateCondition(type) && !wanted.some((own) => own.type === type));
  return [...wanted.map((own) => withTransitionTime(own, before, now)), ...others];
}

type Verdict = Pick<PodCondition, "status" | "reason" | "message">;

function containersCondition({ phase, members, isBeingSaved }: ConditionsInput): Verdict {
  if (isBeingSaved) return { status: "False", reason: "Suspending", message: "the memory of the Pod is being saved" };
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const unready = namesOf(members.filter(({ role, status }) => ["main", "sidecar"].includes(role) && !status.ready));
  if (unready === "") return { status: "True" };
  return { status: "False", reason: "ContainersNotReady", message: `containers with unready status: [${unready}]` };
}

function initialized({ phase, members, isInitialized }: ConditionsInput): Verdict {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  if (isInitialized) return { status: "True" };
  const incomplete = members.filter(
    ({ role, status }) => (role === "init" && !status.ready) || (role === "sidecar" && !status.started),
  );
  const message = `containers with incomplete status: [${namesOf(incomplete)}]`;
  return { status: "False", reason: "ContainersNotInitialized", message };
}

/** Applies the Pod's readiness gates. */
function gated(pod: Pod, containersReady: Verdict): Verdict {
  if (containersReady.status !== "True") return containersReady;
  const missing = (pod.spec?.readinessGates ?? []).filter(
    ({ conditionType }) =>
      !pod.status?.conditions?.some(({ type, status }) => type === conditionType && status === "True"),
  );
  if (missing.length === 0) return containersReady;
  const message = missing.map(
    ({ conditionType }) => `corresponding condition of pod readiness gate "${conditionType}" is not True`,
  );
  return { status: "False", reason: "ReadinessGatesNotReady", message: message.join(", ") };
}

function namesOf(members: readonly MemberStatus[]): string {
  return members.map(({ status }) => status.name).join(" ");
}

/** Keeps `lastTransitionTime` when the condition's status has not changed. */
function withTransitionTime(own: PodCondition, before: readonly PodCondition[], now: number): PodCondition {
  const old = before.find(({ type }) => type === own.type);
  const same = old?.status === own.status ? old.lastTransitionTime : undefined;
  return { ...own, lastTransitionTime: same ?? kubeTime(now) };
}
