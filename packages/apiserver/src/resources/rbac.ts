import type { FieldError } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import type { Strategy } from "./definition.ts";
import { invalidValue, notSupported, required } from "./field-problems.ts";
import { requiredText } from "./field-rules.ts";

const rbacGroup = "rbac.authorization.k8s.io";

export const roleStrategy: Strategy = { setDefaults: withRules, validate: (role) => rulesProblems(role, true) };
export const clusterRoleStrategy: Strategy = {
  setDefaults: withRules,
  validate: (role) => rulesProblems(role, false),
};

/** Go encodes missing rules of a role as null. */
function withRules(role: ApiObject): ApiObject {
  return role["rules"] === undefined ? { ...role, rules: null } : role;
}

function rulesProblems(role: ApiObject, namespaced: boolean): FieldError[] {
  return objectsAt(role, "rules").flatMap((rule, at) => ruleProblems(rule, `rules[${at}]`, namespaced));
}

function ruleProblems(rule: JsonObject, path: string, namespaced: boolean): FieldError[] {
  const has = (key: string): boolean => Array.isArray(rule[key]) && rule[key].length > 0;
  const verbs = has("verbs") ? [] : [required(`${path}.verbs`, "verbs must contain at least one value")];
  if (has("nonResourceURLs")) {
    const why = namespaced
      ? "namespaced rules cannot apply to non-resource URLs"
      : "rules cannot apply to both regular resources and non-resource URLs";
    const mixed = namespaced || has("apiGroups") || has("resources") || has("resourceNames");
    return [...verbs, ...(mixed ? [invalidValue(`${path}.nonResourceURLs`, rule["nonResourceURLs"], why)] : [])];
  }
  return [
    ...verbs,
    ...(has("apiGroups") ? [] : [required(`${path}.apiGroups`, "resource rules must supply at least one api group")]),
    ...(has("resources") ? [] : [required(`${path}.resources`, "resource rules must supply at least one resource")]),
  ];
}

export const roleBindingStrategy: Strategy = bindingStrategy(["Role", "ClusterRole"], false);
export const clusterRoleBindingStrategy: Strategy = bindingStrategy(["ClusterRole"], true);

function bindingStrategy(roleKinds: readonly string[], wide: boolean): Strategy {
  return {
    setDefaults: (binding) =>
      Array.isArray(binding["subjects"])
        ? { ...binding, subjects: binding["subjects"].map((subject) => setSubjectDefaults(subject)) }
        : binding,
    validate: (binding, old) => [
      ...(old === undefined || equalJson(binding["roleRef"], old["roleRef"])
        ? []
        : [invalidValue("roleRef", binding["roleRef"], "cannot change roleRef")]),
      ...roleRefProblems(binding["roleRef"], roleKinds),
      ...objectsAt(binding, "subjects").flatMap((subject, at) => subjectProblems(subject, `subjects[${at}]`, wide)),
    ],
  };
}

function setSubjectDefaults(subject: unknown): unknown {
  if (!isJsonObject(subject)) return subject;
  const named = subject["kind"] === "User" || subject["kind"] === "Group";
  return named ? { ...subject, apiGroup: subject["apiGroup"] || rbacGroup } : subject;
}

function roleRefProblems(roleRef: unknown, kinds: readonly string[]): FieldError[] {
  if (!isJsonObject(roleRef)) return [required("roleRef")];
  const { apiGroup, kind } = roleRef;
  return [
    ...(apiGroup === rbacGroup ? [] : [notSupported("roleRef.apiGroup", apiGroup, [rbacGroup])]),
    ...(kinds.some((each) => each === kind) ? [] : [notSupported("roleRef.kind", kind, kinds)]),
    ...requiredText(roleRef, "name", "roleRef"),
  ];
}

function subjectProblems(subject: JsonObject, path: string, wide: boolean): FieldError[] {
  const { kind, apiGroup = "", namespace = "" } = subject;
  const name = requiredText(subject, "name", path);
  switch (kind) {
    case "ServiceAccount":
      return [
        ...name,
        ...(apiGroup === "" ? [] : [notSupported(`${path}.apiGroup`, apiGroup, [""])]),
        ...(wide && namespace === "" ? [required(`${path}.namespace`)] : []),
      ];
    case "User":
    case "Group":
      return [...name, ...(apiGroup === rbacGroup ? [] : [notSupported(`${path}.apiGroup`, apiGroup, [rbacGroup])])];
    default:
      return [...name, notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"])];
  }
}
