import {
  type Condition,
  nameHash,
  type Pod,
  removeCondition,
  type Sandbox,
  type SandboxStatus,
  sandboxNameHashLabel,
  setCondition,
} from "@agent-sandbox/api";
import { isSuspended, verdicts } from "./conditions.ts";
import { desiredPod } from "./desired-pod.ts";
import { type Observed, ownsPod } from "./observe.ts";
import { unsupportedField } from "./unsupported.ts";

/** Each action can be carried out on its own, and repeated without harm. */
export type Action =
  | { readonly do: "create-pod"; readonly pod: Pod }
  /** Only that very Pod: one that took its name since is left alone. */
  | { readonly do: "delete-pod"; readonly name: string; readonly uid: string };

export interface Decision {
  readonly actions: readonly Action[];
  /** Undefined: leave the status as it is. */
  readonly status: SandboxStatus | undefined;
}

/** What to do about one Sandbox now. Pure: the same observation at the same time gives the same answer. */
export function decide({ sandbox, pod, failure }: Observed, now: number): Decision {
  // Children go with the Sandbox by garbage collection.
  if (sandbox.metadata.deletionTimestamp !== undefined) return { actions: [], status: undefined };
  const error = failure ?? whyNot(sandbox, pod);
  return {
    actions: error === undefined ? podActions(sandbox, pod) : [],
    status: statusOf(sandbox, pod, error, now),
  };
}

function whyNot(sandbox: Sandbox, pod: Pod | undefined): string | undefined {
  const field = unsupportedField(sandbox);
  if (field !== undefined) return `${field} is not supported yet: remove it`;
  if (isSuspended(sandbox) || pod === undefined || ownsPod(sandbox, pod)) return undefined;
  return `Pod "${sandbox.metadata.name}" is not controlled by this Sandbox: delete or rename one of the two`;
}

function podActions(sandbox: Sandbox, pod: Pod | undefined): Action[] {
  if (!isSuspended(sandbox)) return pod === undefined ? [{ do: "create-pod", pod: desiredPod(sandbox) }] : [];
  if (pod === undefined || !ownsPod(sandbox, pod) || pod.metadata?.deletionTimestamp !== undefined) return [];
  return [{ do: "delete-pod", name: pod.metadata?.name ?? "", uid: pod.metadata?.uid ?? "" }];
}

function statusOf(sandbox: Sandbox, pod: Pod | undefined, error: string | undefined, now: number): SandboxStatus {
  const { podIPs: _ips, nodeName: _node, conditions: before, ...kept } = sandbox.status ?? {};
  const seen = verdicts({ sandbox, pod, error });
  const absent = ["Finished", "PodScheduled"].filter((type) => !seen.some((verdict) => verdict.type === type));
  const remaining = absent.reduce<Condition[]>(removeCondition, before ?? []);
  const addresses = pod?.status?.podIPs?.flatMap(({ ip }) => ip ?? []) ?? [];
  const owned = pod !== undefined && ownsPod(sandbox, pod);
  return {
    ...kept,
    ...(pod && { selector: `${sandboxNameHashLabel}=${nameHash(sandbox.metadata.name ?? "")}` }),
    ...(owned && addresses.length > 0 && { podIPs: addresses }),
    ...(owned && pod.spec?.nodeName && { nodeName: pod.spec.nodeName }),
    conditions: seen.reduce((list, verdict) => setCondition(list, verdict, now), remaining),
  };
}
