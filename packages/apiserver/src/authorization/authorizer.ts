import { type Identity, isSuperuser } from "../auth/identity.ts";
import type { Attributes } from "./attributes.ts";
import { type PolicyRule, ruleAllows } from "./policy-rule.ts";
import type { Grant, RbacIndex } from "./rbac-index.ts";

export interface Decision {
  readonly allowed: boolean;
  /** The binding that allows the request, or errors found while looking for one. Often empty. */
  readonly reason: string;
}

export interface HeldRules {
  readonly rules: readonly PolicyRule[];
  /** Errors about bound roles that do not exist. */
  readonly problems: readonly string[];
}

/** Authorizes by RBAC. A request that no rule allows is refused. */
export class Authorizer {
  readonly #index: RbacIndex;

  constructor(index: RbacIndex) {
    this.#index = index;
  }

  decide(identity: Identity, wanted: Attributes): Decision {
    if (isSuperuser(identity)) return { allowed: true, reason: "" };
    const problems: string[] = [];
    for (const grant of this.#index.grantsOf(identity, wanted.kind === "path" ? "" : wanted.namespace)) {
      const found = this.#index.rulesOf(grant.role, grant.namespace);
      if ("problem" in found) problems.push(found.problem);
      else if (found.rules.some((rule) => ruleAllows(rule, wanted))) {
        return { allowed: true, reason: `RBAC: allowed by ${describeGrant(grant)}` };
      }
    }
    return { allowed: false, reason: problems.length === 0 ? "" : `RBAC: ${joinProblems(problems)}` };
  }

  /** All rules that apply to an identity in a namespace, or cluster-wide when the namespace is empty. */
  rulesOf(identity: Identity, namespace: string): HeldRules {
    const seen = new Set<string>();
    const rules: PolicyRule[] = [];
    const problems: string[] = [];
    for (const grant of this.#index.grantsOf(identity, namespace)) {
      // A binding may match an identity by user and by group. Count it once.
      const binding = `${grant.namespace ?? ""}\n${grant.binding}`;
      if (seen.has(binding)) continue;
      seen.add(binding);
      const found = this.#index.rulesOf(grant.role, grant.namespace);
      if ("problem" in found) problems.push(found.problem);
      else rules.push(...found.rules);
    }
    return { rules, problems };
  }
}

/** Joins error messages as Kubernetes does: without duplicates, and in brackets if there are several. */
export function joinProblems(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? (distinct[0] as string) : `[${distinct.join(", ")}]`;
}

function describeGrant({ binding, namespace, role, subject }: Grant): string {
  const bound = namespace === undefined ? `ClusterRoleBinding "${binding}"` : `RoleBinding "${binding}/${namespace}"`;
  const who = subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace}` : subject.name;
  return `${bound} of ${role.kind} "${role.name}" to ${subject.kind} ${JSON.stringify(who)}`;
}
