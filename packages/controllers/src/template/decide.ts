import {
  controllerOf,
  controllerReference,
  extensionsGroup,
  isControlledBy,
  type NetworkPolicy,
  nameHash,
  type OwnerReference,
  refersToKind,
  type SandboxTemplate,
  sandboxTemplateRefHashLabel,
  sandboxTemplates,
  semanticEqual,
} from "@agent-sandbox/api";
import { errorText } from "../error-text.ts";
import { desiredPolicy, desiredSpec, isManaged, type RouterPlace } from "./desired-policy.ts";

/** What the controller knows when it looks at one template. */
export interface Observed {
  readonly template: SandboxTemplate;
  /** What has the name of the template's policy, whoever owns it. */
  readonly policy: NetworkPolicy | undefined;
  readonly router: RouterPlace;
}

export type Action =
  | { readonly do: "label-template"; readonly template: SandboxTemplate; readonly hash: string }
  | { readonly do: "create-policy"; readonly policy: NetworkPolicy }
  | { readonly do: "change-policy"; readonly policy: NetworkPolicy; readonly change: object }
  | { readonly do: "delete-policy"; readonly policy: NetworkPolicy };

export interface Decision {
  readonly actions: readonly Action[];
  /** What only a person can put right. */
  readonly obstacle?: string;
}

/** What to do about one template now. Pure. */
export function decide(seen: Observed): Decision {
  const { template } = seen;
  // The policy goes with the template by garbage collection, or is kept when that is gone.
  if (template.metadata.deletionTimestamp !== undefined) return { actions: [] };
  const hash = nameHash(template.metadata.name ?? "");
  const isLabelled = template.metadata.labels?.[sandboxTemplateRefHashLabel] === hash;
  const { actions, ...rest } = understoodDecision(seen);
  return { actions: [...(isLabelled ? [] : [{ do: "label-template", template, hash } as const]), ...actions], ...rest };
}

/** Total: a spec that no schema would let through is what a person must put right, like any other mistake. */
function understoodDecision(seen: Observed): Decision {
  try {
    return policyDecision(seen);
  } catch (error) {
    const { namespace, name } = seen.template.metadata;
    return { actions: [], obstacle: `Cannot understand SandboxTemplate "${namespace}/${name}": ${errorText(error)}` };
  }
}

function policyDecision({ template, policy, router }: Observed): Decision {
  const isOurs = policy !== undefined && isControlledBy(policy, template.metadata.uid);
  if (!isManaged(template)) return { actions: isOurs ? [{ do: "delete-policy", policy }] : [] };
  if (policy === undefined) return { actions: [{ do: "create-policy", policy: desiredPolicy(template, router) }] };
  const isKept = isKeptPolicy(policy, template.metadata.name ?? "");
  if (!isOurs && !isKept) return { actions: [], obstacle: obstacleOf(policy, template) };
  const spec = desiredSpec(template, router);
  const owned = isKept ? { metadata: { ownerReferences: [controllerReference(sandboxTemplates, template)] } } : {};
  const changed = semanticEqual(policy.spec, spec, ["spec"]) ? {} : { spec };
  const change = { ...owned, ...changed };
  return { actions: Object.keys(change).length === 0 ? [] : [{ do: "change-policy", policy, change }] };
}

function obstacleOf({ metadata }: NetworkPolicy, template: SandboxTemplate): string {
  return (
    `Cannot manage NetworkPolicy "${metadata?.namespace}/${metadata?.name}": SandboxTemplate "${template.metadata.name}" ` +
    "does not control it; delete it, rename the template, or set networkPolicyManagement to Unmanaged"
  );
}

/** What is left of a template that was deleted. */
export interface Remains {
  readonly templateName: string;
  readonly policy: NetworkPolicy | undefined;
  /** The policy that went with the template, if it was seen to go. */
  readonly lost: NetworkPolicy | undefined;
  /** Sandboxes made from the template that still run. */
  readonly sandboxes: number;
}

/**
 * Sandboxes outlive their template, and their isolation must too: the policy loses its owner before it is collected with it, or
 * is made again, and goes when the last Sandbox has gone.
 */
export function decideWithoutTemplate({ templateName, policy, lost, sandboxes }: Remains): Decision {
  if (policy === undefined) {
    return {
      actions:
        lost === undefined || sandboxes === 0 ? [] : [{ do: "create-policy", policy: keptCopy(lost, templateName) }],
    };
  }
  if (isKeptPolicy(policy, templateName)) return { actions: sandboxes > 0 ? [] : [{ do: "delete-policy", policy }] };
  const owner = controllerOf(policy);
  if (sandboxes === 0 || !isTemplateReference(owner, templateName)) return { actions: [] };
  const ownerReferences = (policy.metadata?.ownerReferences ?? []).filter((reference) => reference !== owner);
  const change = { metadata: { ownerReferences, labels: keptLabels(templateName) } };
  return { actions: [{ do: "change-policy", policy, change }] };
}

/** Whether the policy is one that we kept for Sandboxes without template. */
function isKeptPolicy(policy: NetworkPolicy, templateName: string): boolean {
  const label = policy.metadata?.labels?.[sandboxTemplateRefHashLabel];
  return controllerOf(policy) === undefined && label === nameHash(templateName);
}

function keptCopy({ metadata, spec }: NetworkPolicy, templateName: string): NetworkPolicy {
  const { name = "", namespace = "" } = metadata ?? {};
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace, labels: keptLabels(templateName) },
    ...(spec && { spec }),
  };
}

function keptLabels(templateName: string): Record<string, string> {
  return { [sandboxTemplateRefHashLabel]: nameHash(templateName) };
}

function isTemplateReference(reference: OwnerReference | undefined, templateName: string): boolean {
  const kind = { group: extensionsGroup, kind: "SandboxTemplate" };
  return reference?.name === templateName && refersToKind(reference, kind);
}
