import type { Transport } from "@agent-sandbox/kube";
import { type ApiObject, isJsonObject, stringAt, valueAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import type { Store } from "../store/store.ts";
import { ownManager } from "../verbs/write-options.ts";
import { aggregatedRules } from "./aggregation.ts";
import { type BootstrapBinding, type BootstrapRole, bootstrapBindings, bootstrapRoles } from "./bootstrap-roles.ts";
import { findUncovered } from "./covers.ts";
import { type PolicyRule, readRules } from "./policy-rule.ts";
import { rbacGroup } from "./rbac-index.ts";

const apiVersion = `${rbacGroup}/v1`;
const autoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
const labels = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const annotations = { [autoUpdate]: "true" };
const aggregateTo = (role: string): string => `rbac.authorization.k8s.io/aggregate-to-${role}`;

/**
 * Brings the default roles and bindings up to date. Missing rules and subjects are added again, additional ones are kept, and
 * objects whose autoupdate annotation is "false" are not changed. Nothing is written when nothing is missing.
 */
export async function reconcileRoles(store: Store, transport: Transport): Promise<void> {
  const roles = wantedRoles();
  const bindings = bootstrapBindings.map(wantedBinding);
  await Promise.all([
    ...roles.map((role) => reconcile(store, transport, { plural: "clusterroles", wanted: role, merge: mergeRole })),
    ...bindings.map((binding) =>
      reconcile(store, transport, { plural: "clusterrolebindings", wanted: binding, merge: mergeBinding }),
    ),
  ]);
}

interface Bootstrap {
  readonly plural: string;
  readonly wanted: ApiObject;
  /** Returns the stored object with the missing parts added, or the same object when nothing is missing. */
  readonly merge: (stored: ApiObject, wanted: ApiObject) => ApiObject | "replace";
}

async function reconcile(store: Store, transport: Transport, { plural, wanted, merge }: Bootstrap): Promise<void> {
  const name = wanted.metadata.name as string;
  const path = `/apis/${apiVersion}/${plural}`;
  const stored = store.get(plural, name)?.object;
  if (stored === undefined) return send(transport, { method: "POST", path, body: wanted });
  if (stored.metadata.annotations?.[autoUpdate] === "false") return;
  const merged = merge(stored, wanted);
  if (merged === "replace") {
    await send(transport, { method: "DELETE", path: `${path}/${name}` });
    return send(transport, { method: "POST", path, body: wanted });
  }
  if (!equalJson(merged, stored)) await send(transport, { method: "PUT", path: `${path}/${name}`, body: merged });
}

async function send(transport: Transport, request: Parameters<Transport["send"]>[0]): Promise<void> {
  const { status, body } = await transport.send({ ...request, path: `${request.path}?fieldManager=${ownManager}` });
  if (status < 300) return;
  throw new Error(`Cannot write "${request.path}": ${stringAt(body, "message") ?? `status ${status}`}`);
}

/** The default roles, with the rules that aggregation will give them, so that aggregation has nothing to write. */
export function wantedRoles(): readonly ApiObject[] {
  const roles = new Map(bootstrapRoles.map((role) => [role.name, wantedRole(role)]));
  // In this order, because each role includes the one before.
  for (const name of ["view", "edit", "admin"]) {
    const role = roles.get(name) as ApiObject;
    roles.set(name, { ...role, rules: aggregatedRules(role, roles.values()) });
  }
  return [...roles.values()];
}

function wantedRole({ name, partOf, aggregates, rules }: BootstrapRole): ApiObject {
  const aggregation = { clusterRoleSelectors: [{ matchLabels: { [aggregateTo(name)]: "true" } }] };
  return {
    apiVersion,
    kind: "ClusterRole",
    metadata: {
      name,
      annotations,
      labels: { ...labels, ...(partOf === undefined ? {} : { [aggregateTo(partOf)]: "true" }) },
    },
    ...(aggregates === true ? { aggregationRule: aggregation } : {}),
    rules,
  };
}

function wantedBinding({ role, groups = [], accounts = [] }: BootstrapBinding): ApiObject {
  return {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: role, annotations, labels },
    roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name: role },
    subjects: [
      ...groups.map((name) => ({ kind: "Group", apiGroup: rbacGroup, name })),
      ...accounts.map((account) => ({ kind: "ServiceAccount", ...account })),
    ],
  };
}

function withWantedMetadata(stored: ApiObject, { metadata: wanted }: ApiObject): ApiObject {
  const { metadata } = stored;
  return {
    ...stored,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...wanted.labels },
      annotations: { ...metadata.annotations, ...wanted.annotations },
    },
  };
}

function mergeRole(stored: ApiObject, wanted: ApiObject): ApiObject {
  const merged = withWantedMetadata(stored, wanted);
  // The rules of an aggregated role are written by the aggregator.
  if (wanted["aggregationRule"] !== undefined) return mergeAggregation(merged, wanted);
  const held = readRules(stored["rules"]);
  const missing = readRules(wanted["rules"]).filter((rule) => lacks(held, rule));
  return missing.length === 0 ? merged : { ...merged, rules: [...held, ...missing] };
}

function lacks(held: readonly PolicyRule[], rule: PolicyRule): boolean {
  const uncovered = findUncovered(held, [rule]);
  return "problem" in uncovered || uncovered.missing.length > 0;
}

function mergeAggregation(stored: ApiObject, wanted: ApiObject): ApiObject {
  const own = listAt(stored, "aggregationRule", "clusterRoleSelectors");
  const selectors = listAt(wanted, "aggregationRule", "clusterRoleSelectors");
  const missing = selectors.filter((each) => !own.some((known) => equalJson(known, each)));
  return missing.length === 0 ? stored : { ...stored, aggregationRule: { clusterRoleSelectors: [...own, ...missing] } };
}

/** The role of a binding is immutable, so a binding to another role is replaced. */
function mergeBinding(stored: ApiObject, wanted: ApiObject): ApiObject | "replace" {
  if (!equalJson(stored["roleRef"], wanted["roleRef"])) return "replace";
  const merged = withWantedMetadata(stored, wanted);
  const own = listAt(stored, "subjects");
  const missing = listAt(wanted, "subjects").filter((each) => !own.some((known) => isSameSubject(known, each)));
  return missing.length === 0 ? merged : { ...merged, subjects: [...own, ...missing] };
}

const isSameSubject = (left: unknown, right: unknown): boolean =>
  isJsonObject(left) &&
  isJsonObject(right) &&
  ["kind", "name", "namespace"].every((key) => (left[key] ?? "") === (right[key] ?? ""));

function listAt(object: ApiObject, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(object, ...path);
  return Array.isArray(found) ? found : [];
}
