import {
  controllerOf,
  extensionsGroup,
  type NetworkPolicy,
  nameHash,
  type OwnerReference,
  refersToKind,
  sandboxTemplateRefHashLabel,
} from "@agent-sandbox/api";
import type { Action } from "./decide.ts";
import type { Observed } from "./observe.ts";

/**
 * Sandboxes outlive their template, and so must their isolation. The policy loses its owner before it is garbage collected with the
 * template, or is created again after that, and is deleted with the last Sandbox.
 */
export function keepPolicy({ templateName, policy, lostPolicy, sandboxes }: Observed): Action[] {
  if (policy === undefined) {
    if (lostPolicy === undefined || sandboxes === 0) return [];
    return [{ do: "create-policy", policy: keptCopy(lostPolicy, templateName) }];
  }
  if (isKeptPolicy(policy, templateName)) return sandboxes > 0 ? [] : [{ do: "delete-policy", policy }];
  const owner = controllerOf(policy);
  if (sandboxes === 0 || !isTemplateReference(owner, templateName)) return [];
  const ownerReferences = (policy.metadata?.ownerReferences ?? []).filter((reference) => reference !== owner);
  const change = { metadata: { ownerReferences, labels: keptLabels(templateName) } };
  return [{ do: "change-policy", policy, change }];
}

/** Whether this controller kept the policy for Sandboxes whose template is gone. */
export function isKeptPolicy(policy: NetworkPolicy, templateName: string): boolean {
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
