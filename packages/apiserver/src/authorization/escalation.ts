import { type ErrorSubject, forbidden, notFound } from "../api-error.ts";
import { type ApiObject, stringAt, valueAt } from "../api-object.ts";
import { type Identity, isSuperuser } from "../auth/identity.ts";
import { equalJson } from "../json.ts";
import type { ResourceAttributes } from "./attributes.ts";
import { type Authorizer, joinProblems } from "./authorizer.ts";
import { findUncovered } from "./covers.ts";
import { describeRules } from "./describe-rules.ts";
import { type PolicyRule, readRules } from "./policy-rule.ts";
import { type RbacIndex, rbacGroup } from "./rbac-index.ts";

export interface EscalationCheck {
  readonly authorizer: Authorizer;
  readonly index: RbacIndex;
  readonly identity: Identity;
  /** The write request. */
  readonly attributes: ResourceAttributes;
}

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

const roles = new Set(["roles", "clusterroles"]);
const bindings = new Set(["rolebindings", "clusterrolebindings"]);

/**
 * Throws `Forbidden` for a role or binding that grants permissions its writer lacks, unless the writer may `escalate` the role
 * or `bind` it. Objects of other kinds are not checked.
 */
export function refuseEscalation(check: EscalationCheck, object: ApiObject, old: ApiObject | undefined): void {
  const { group, resource } = check.attributes;
  if (group !== rbacGroup || isSuperuser(check.identity)) return;
  if (old !== undefined && changesOwnersOnly(object, old)) return;
  if (roles.has(resource)) refuseRole(check, object, old);
  if (bindings.has(resource)) refuseBinding(check, object);
}

/** The garbage collector must be able to update roles whose permissions it could not grant. */
function changesOwnersOnly(object: ApiObject, old: ApiObject): boolean {
  return equalJson(withoutOwners(object), withoutOwners(old));
}

function withoutOwners(object: ApiObject): unknown {
  const {
    ownerReferences: _owners,
    finalizers: _finalizers,
    managedFields: _fields,
    resourceVersion: _version,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}

function refuseRole(check: EscalationCheck, role: ApiObject, old: ApiObject | undefined): void {
  const { authorizer, identity, attributes } = check;
  if (authorizer.decide(identity, { ...attributes, verb: "escalate" }).allowed) return;
  const subject = subjectOf(attributes, role);
  refuseUnheld(check, subject, readRules(role["rules"]));
  if (![role, old].some(isAggregated)) return;
  const held = authorizer.rulesOf(identity, attributes.namespace).rules;
  const uncovered = findUncovered(held, fullAuthority);
  if ("missing" in uncovered && uncovered.missing.length === 0) return;
  throw forbidden(subject, "must have cluster-admin privileges to use the aggregationRule");
}

function refuseBinding(check: EscalationCheck, binding: ApiObject): void {
  const { authorizer, index, identity, attributes } = check;
  const role = { kind: stringAt(binding, "roleRef", "kind") ?? "", name: stringAt(binding, "roleRef", "name") ?? "" };
  const resource = role.kind === "ClusterRole" ? "clusterroles" : "roles";
  const bind: ResourceAttributes = { ...attributes, verb: "bind", resource, name: role.name };
  if (authorizer.decide(identity, bind).allowed) return;
  const found = index.rulesOf(role, binding.metadata.namespace);
  if ("problem" in found) throw notFound({ group: rbacGroup, plural: role.kind.toLowerCase(), name: role.name });
  refuseUnheld(check, subjectOf(attributes, binding), found.rules);
}

function refuseUnheld(check: EscalationCheck, subject: ErrorSubject, rules: readonly PolicyRule[]): void {
  const { user, groups } = check.identity;
  const { rules: held, problems } = check.authorizer.rulesOf(check.identity, check.attributes.namespace);
  const uncovered = findUncovered(held, rules);
  if ("problem" in uncovered) throw forbidden(subject, uncovered.problem);
  if (uncovered.missing.length === 0) return;
  const who = `user ${JSON.stringify(user)} (groups=[${groups.map((each) => JSON.stringify(each)).join(" ")}])`;
  const resolution = problems.length === 0 ? "" : `; resolution errors: [${joinProblems(problems)}]`;
  throw forbidden(
    subject,
    `${who} is attempting to grant RBAC permissions not currently held:\n${describeRules(uncovered.missing)}${resolution}`,
  );
}

function subjectOf({ resource }: ResourceAttributes, { metadata }: ApiObject): ErrorSubject {
  return { group: rbacGroup, plural: resource, name: metadata.name ?? "" };
}

function isAggregated(role: ApiObject | undefined): boolean {
  const selectors = valueAt(role, "aggregationRule", "clusterRoleSelectors");
  return Array.isArray(selectors) && selectors.length > 0;
}
