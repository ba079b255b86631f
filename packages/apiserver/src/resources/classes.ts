import type { FieldError } from "../api-error.ts";
import { type ApiObject, stringAt } from "../api-object.ts";
import { equalJson } from "../json.ts";
import type { Strategy } from "./definition.ts";
import { forbidden, immutable, invalidValue, required } from "./field-problems.ts";
import { labelField, oneOf, optionalOneOf } from "./field-rules.ts";
import { qualifiedNameProblems } from "./names.ts";

/** RuntimeClasses, StorageClasses and PriorityClasses, whose main fields cannot change. */
export const runtimeClassStrategy: Strategy = {
  validate: (runtimeClass, old) => [
    ...labelField(runtimeClass, "handler", ""),
    ...changes(runtimeClass, old, ["handler"]),
  ],
};

export const storageClassStrategy: Strategy = {
  validate: (storageClass, old) =>
    old === undefined
      ? storageProblems(storageClass)
      : changes(storageClass, old, ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"]),
};

function storageProblems(storageClass: ApiObject): FieldError[] {
  const provisioner = stringAt(storageClass, "provisioner") ?? "";
  const lower = provisioner.toLowerCase();
  return [
    ...(provisioner === ""
      ? [required("provisioner")]
      : qualifiedNameProblems(lower).map((problem) => invalidValue("provisioner", lower, problem))),
    ...optionalOneOf(storageClass, "reclaimPolicy", "", ["Delete", "Retain"]),
    ...oneOf(storageClass, "volumeBindingMode", "", ["Immediate", "WaitForFirstConsumer"]),
  ];
}

const highestPriority = 1_000_000_000;
const systemPriorities = new Map([
  ["system-node-critical", 2_000_001_000],
  ["system-cluster-critical", 2_000_000_000],
]);

export const priorityClassStrategy: Strategy = {
  // kube-apiserver never increases its generation.
  generationPart: () => undefined,
  validate: (priorityClass, old) =>
    old === undefined
      ? [
          ...valueProblems(priorityClass),
          ...optionalOneOf(priorityClass, "preemptionPolicy", "", ["PreemptLowerPriority", "Never"]),
        ]
      : [
          ...(priorityClass["value"] === old["value"] ? [] : [forbidden("value", "may not be changed in an update.")]),
          ...changes(priorityClass, old, ["preemptionPolicy"]),
        ],
};

function valueProblems({ metadata: { name = "" }, value }: ApiObject): FieldError[] {
  if (name.startsWith("system-")) {
    if (systemPriorities.get(name) === value) return [];
    return [forbidden("metadata.name", "priority class names with 'system-' prefix are reserved for system use only")];
  }
  if (typeof value !== "number" || value <= highestPriority) return [];
  return [forbidden("value", `maximum allowed value of a user defined priority is ${highestPriority}`)];
}

function changes(object: ApiObject, old: ApiObject | undefined, fields: readonly string[]): FieldError[] {
  if (old === undefined) return [];
  return fields.filter((key) => !equalJson(object[key], old[key])).map((key) => immutable(key, object[key]));
}
