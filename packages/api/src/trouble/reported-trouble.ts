import type { Pod } from "../kubernetes.ts";
import { findCondition } from "../primitives/condition.ts";
import { describeTrouble, type PodTrouble, podTroubleOf } from "./pod-trouble.ts";

/**
 * The message of a Ready condition that says why the Pod is not ready: `start` is what the reference implementation says. `before`
 * is the message so far. Its sentence is kept if it has the same cause: the kubelet leaves details out from time to time, and
 * texts of registries contain ports and request IDs. Otherwise the status would be written at each attempt.
 */
export function withTrouble(start: string, trouble: PodTrouble | undefined, before: string | undefined): string {
  if (trouble === undefined) return start;
  const [sentence, said] = [describeTrouble(trouble), troubleIn(before)];
  const isSame = said?.startsWith(trouble.cause) && (trouble.detail === undefined || isSameTrouble(said, sentence));
  return `${start}; ${isSame ? said : sentence}`;
}

/** The reference's messages. They contain no text of a tenant. */
const starts =
  /^(?:Pod [\w ]+(?:: \w*)?(?:; Service (?:Exists|does not exist))?|Not all members are Ready yet); (.+)$/s;

/** The sentence that `withTrouble` added to the message of a Ready condition. */
export function troubleIn(message: string | undefined): string | undefined {
  const [, sentence] = starts.exec(message ?? "") ?? [];
  return sentence === undefined || /^Service (?:Exists|does not exist)$/.test(sentence) ? undefined : sentence;
}

/** Whether two sentences differ at most in numbers and IDs. */
export function isSameTrouble(one: string, other: string): boolean {
  return withoutNumbers(one) === withoutNumbers(other);
}

/** For comparisons. */
export function withoutNumbers(sentence: string): string {
  return sentence.replaceAll(/[0-9a-f]{4,}/g, "#").replaceAll(/\d+/g, "#");
}

interface Reported {
  readonly status?: { readonly conditions?: readonly ReportedReady[] };
}

interface ReportedReady {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/**
 * Why a Sandbox or claim is not ready, in one sentence; undefined: it is ready, or nothing is known. The Ready condition of our
 * controllers contains the reason. For objects that the reference's controllers reconcile, pass the Pod.
 */
export function whyNotReady({ status }: Reported, pod?: Pick<Pod, "spec" | "status">): string | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status === "True") return undefined;
  const known = troubleIn(ready?.message);
  if (known !== undefined) return known;
  const trouble = pod !== undefined && isAboutPod(ready) ? podTroubleOf(pod) : undefined;
  if (trouble !== undefined) return describeTrouble(trouble);
  return ready?.message || ready?.reason || undefined;
}

/** Other reasons say more than the Pod does. */
function isAboutPod(ready: ReportedReady | undefined): boolean {
  return ready === undefined || ["DependenciesNotReady", "PodFailed"].includes(ready.reason);
}
