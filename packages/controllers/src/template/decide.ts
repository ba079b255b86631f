import {
  isControlledBy,
  type NetworkPolicy,
  nameHash,
  type SandboxTemplate,
  sandboxTemplateRefHashLabel,
  semanticEqual,
} from "@agent-sandbox/api";
import { desiredPolicy, desiredSpec, isManaged, type RouterPlace } from "./desired-policy.ts";

/** What the controller knows when it looks at one template. */
export interface Observed {
  readonly template: SandboxTemplate;
  /** What has the name of the template's policy, whoever owns it. */
  readonly policy: NetworkPolicy | undefined;
  readonly router: RouterPlace;
}

export type Action =
  | { readonly do: "label-template"; readonly hash: string }
  | { readonly do: "create-policy"; readonly policy: NetworkPolicy }
  | { readonly do: "update-policy"; readonly spec: NonNullable<NetworkPolicy["spec"]> }
  | { readonly do: "delete-policy" };

export interface Decision {
  readonly actions: readonly Action[];
  /** What only a person can put right. */
  readonly obstacle?: string;
}

/** What to do about one template now. Pure. */
export function decide(seen: Observed): Decision {
  const { template } = seen;
  // The policy goes with the template by garbage collection.
  if (template.metadata.deletionTimestamp !== undefined) return { actions: [] };
  const hash = nameHash(template.metadata.name ?? "");
  const isLabelled = template.metadata.labels?.[sandboxTemplateRefHashLabel] === hash;
  const { actions, ...rest } = policyDecision(seen);
  return { actions: [...(isLabelled ? [] : [{ do: "label-template", hash } as const]), ...actions], ...rest };
}

function policyDecision({ template, policy, router }: Observed): Decision {
  const isOurs = policy !== undefined && isControlledBy(policy, template.metadata.uid);
  if (!isManaged(template)) return { actions: isOurs ? [{ do: "delete-policy" }] : [] };
  if (policy === undefined) return { actions: [{ do: "create-policy", policy: desiredPolicy(template, router) }] };
  if (!isOurs) {
    const { name, namespace } = policy.metadata ?? {};
    const obstacle = `Cannot manage NetworkPolicy "${namespace}/${name}": SandboxTemplate "${template.metadata.name}" does not control it; delete it, rename the template, or set networkPolicyManagement to Unmanaged`;
    return { actions: [], obstacle };
  }
  const spec = desiredSpec(template, router);
  return { actions: semanticEqual(policy.spec, spec, ["spec"]) ? [] : [{ do: "update-policy", spec }] };
}
