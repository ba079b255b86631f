import { type ApiObject, isJsonObject, valueAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { type PolicyRule, readRules } from "./policy-rule.ts";

/** The selectors with which a ClusterRole aggregates others. A role is included if any of them matches. */
function selectorsOf(role: ApiObject): readonly unknown[] | undefined {
  const selectors = valueAt(role, "aggregationRule", "clusterRoleSelectors");
  return Array.isArray(selectors) ? selectors : undefined;
}

export const isAggregated = (role: ApiObject): boolean => selectorsOf(role) !== undefined;

/** The rules that an aggregated role should have: those of the roles it selects, ordered by role name, without duplicates. */
export function aggregatedRules(role: ApiObject, all: Iterable<ApiObject>): readonly PolicyRule[] {
  const selectors = selectorsOf(role) ?? [];
  const rules: PolicyRule[] = [];
  const chosen = [...all]
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .filter(({ metadata }) => selectors.some((selector) => selects(selector, metadata.labels ?? {})))
    .sort((left, right) => (String(left.metadata.name) < String(right.metadata.name) ? -1 : 1));
  for (const each of chosen) {
    for (const rule of readRules(each["rules"])) {
      if (!rules.some((known) => equalJson(known, rule))) rules.push(rule);
    }
  }
  return rules;
}

type Labels = Readonly<Record<string, string>>;

/** Whether a LabelSelector matches. A selector without requirements matches everything. */
function selects(selector: unknown, labels: Labels): boolean {
  const wanted = valueAt(selector, "matchLabels");
  const expressions = valueAt(selector, "matchExpressions");
  const byLabel = isJsonObject(wanted)
    ? Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
    : true;
  return byLabel && (Array.isArray(expressions) ? expressions.every((each) => meets(each, labels)) : true);
}

function meets(expression: unknown, labels: Labels): boolean {
  const key = String(valueAt(expression, "key"));
  const values = valueAt(expression, "values");
  const listed = Array.isArray(values) && Object.hasOwn(labels, key) && values.includes(labels[key]);
  switch (valueAt(expression, "operator")) {
    case "In":
      return listed;
    case "NotIn":
      return !listed;
    case "Exists":
      return Object.hasOwn(labels, key);
    case "DoesNotExist":
      return !Object.hasOwn(labels, key);
    default:
      return false;
  }
}
