import type { FieldError } from "../api-error.ts";
import { isJsonObject, type JsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import type { Strategy } from "./definition.ts";
import { forbidden, invalidValue } from "./field-problems.ts";
import { oneOf } from "./field-rules.ts";
import { labelValueProblems, qualifiedNameProblems } from "./names.ts";

export const nodeStrategy: Strategy = {
  keepsStatus: true,
  setDefaults: (given) => {
    const { spec, status } = given;
    const node = isJsonObject(spec) && spec["unschedulable"] === false ? { ...given, spec: schedulable(spec) } : given;
    if (!isJsonObject(status) || status["capacity"] === undefined) return node;
    return { ...node, status: { allocatable: status["capacity"], ...status } };
  },
  validate: (node, old) => [
    ...taintProblems(objectsAt(node, "spec", "taints")),
    ...(old === undefined ? [] : identityProblems(node["spec"], old["spec"])),
  ],
  selectableFields: { "spec.unschedulable": (node) => String(valueAt(node, "spec", "unschedulable") === true) },
};

/** Go omits `unschedulable` if it is false. */
function schedulable({ unschedulable: _unschedulable, ...spec }: JsonObject): JsonObject {
  return spec;
}

/** The provider id and the Pod networks of a Node can be set once. */
function identityProblems(spec: unknown, old: unknown): FieldError[] {
  const changes = (key: string): boolean => {
    const before = valueAt(old, key) ?? "";
    return before !== "" && !equalJson(before, valueAt(spec, key));
  };
  const why = (what: string): string => `node updates may not change ${what} except from "" to valid`;
  return [
    ...(changes("podCIDRs") ? [forbidden("spec.podCIDRs", why("podCIDR"))] : []),
    ...(changes("providerID") ? [forbidden("spec.providerID", why("providerID"))] : []),
  ];
}

function taintProblems(taints: readonly JsonObject[]): FieldError[] {
  const seen = new Set<string>();
  return taints.flatMap((taint, at) => {
    // kube-apiserver reports this path, although taints are in the spec.
    const path = `metadata.taints[${at}]`;
    const [key = "", value = ""] = [stringAt(taint, "key"), stringAt(taint, "value")];
    const pair = `${key} ${String(taint["effect"])}`;
    const repeated = seen.has(pair);
    seen.add(pair);
    const valueProblems = labelValueProblems(value);
    return [
      ...qualifiedNameProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
      ...(valueProblems.length === 0 ? [] : [invalidValue(`${path}.value`, value, valueProblems.join(";"))]),
      ...oneOf(taint, "effect", path, ["NoSchedule", "PreferNoSchedule", "NoExecute"]),
      ...(repeated ? [repeatedTaint(path, taint)] : []),
    ];
  });
}

function repeatedTaint(field: string, taint: JsonObject): FieldError {
  const message = `Duplicate value: ${JSON.stringify(taint)}: taints must be unique by key and effect pair`;
  return { field, reason: "FieldValueDuplicate", message };
}
