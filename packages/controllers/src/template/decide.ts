import {
  controllerReference,
  isControlledBy,
  type NetworkPolicy,
  nameHash,
  type SandboxTemplate,
  sandboxTemplateRefHashLabel,
  sandboxTemplates,
  semanticEqual,
} from "@agent-sandbox/api";
import { type Decision as EngineDecision, TerminalError } from "@agent-sandbox/kube";
import { errorText } from "../error-text.ts";
import { desiredPolicy, desiredSpec, isManaged } from "./desired-policy.ts";
import { isKeptPolicy, keepPolicy } from "./kept-policy.ts";
import type { Observed } from "./observe.ts";

export type Action =
  | { readonly do: "label-template"; readonly template: SandboxTemplate; readonly hash: string }
  | { readonly do: "create-policy"; readonly policy: NetworkPolicy }
  | { readonly do: "change-policy"; readonly policy: NetworkPolicy; readonly change: object }
  | { readonly do: "delete-policy"; readonly policy: NetworkPolicy };

/** A template has no status: a mistake that only a person can correct is the error of the pass. */
export type Decision = EngineDecision<Action, never, undefined> & { readonly error?: Error };

export function decide(observed: Observed): Decision {
  const { template } = observed;
  if (template === undefined) return decisionOf(keepPolicy(observed));
  // Garbage collection deletes the policy with the template, unless Sandboxes remain.
  if (template.metadata.deletionTimestamp !== undefined) return decisionOf([]);
  const hash = nameHash(template.metadata.name ?? "");
  const isLabelled = template.metadata.labels?.[sandboxTemplateRefHashLabel] === hash;
  const { actions, error } = totalPolicyDecision(observed, template);
  return decisionOf([...(isLabelled ? [] : [{ do: "label-template", template, hash } as const]), ...actions], error);
}

function decisionOf(actions: readonly Action[], error?: Error): Decision {
  return { actions, memory: undefined, ...(error && { error }) };
}

/** A stored spec may not satisfy today's schema. That is an error like any other mistake in it. */
function totalPolicyDecision(observed: Observed, template: SandboxTemplate): Decision {
  try {
    return policyDecision(observed, template);
  } catch (error) {
    const { namespace, name } = template.metadata;
    const message = `Cannot understand SandboxTemplate "${namespace}/${name}": ${errorText(error)}`;
    return decisionOf([], new TerminalError(message));
  }
}

function policyDecision({ policy, router }: Observed, template: SandboxTemplate): Decision {
  const isOurs = policy !== undefined && isControlledBy(policy, template.metadata.uid);
  if (!isManaged(template)) return decisionOf(isOurs ? [{ do: "delete-policy", policy }] : []);
  if (policy === undefined) return decisionOf([{ do: "create-policy", policy: desiredPolicy(template, router) }]);
  const isKept = isKeptPolicy(policy, template.metadata.name ?? "");
  if (!isOurs && !isKept) return decisionOf([], new TerminalError(foreignPolicyMessage(policy, template)));
  const spec = desiredSpec(template, router);
  const owned = isKept ? { metadata: { ownerReferences: [controllerReference(sandboxTemplates, template)] } } : {};
  const changed = semanticEqual(policy.spec, spec, ["spec"]) ? {} : { spec };
  const change = { ...owned, ...changed };
  return decisionOf(Object.keys(change).length === 0 ? [] : [{ do: "change-policy", policy, change }]);
}

function foreignPolicyMessage({ metadata }: NetworkPolicy, template: SandboxTemplate): string {
  return (
    `Cannot manage NetworkPolicy "${metadata?.namespace}/${metadata?.name}": SandboxTemplate "${template.metadata.name}" ` +
    "does not control it; delete it, rename the template, or set networkPolicyManagement to Unmanaged"
  );
}
