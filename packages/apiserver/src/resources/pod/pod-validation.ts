import type { FieldError } from "../../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, valueAt } from "../../api-object.ts";
import { equalJson } from "../../json.ts";
import { invalidValue, typeError } from "../metadata.ts";
import { isLabel } from "../names.ts";
import { parseQuantity } from "./quantity.ts";

/** The rules of a Pod that its schema cannot say. Types have been checked against the schema before. */
export function validatePod(pod: ApiObject, old: ApiObject | undefined): readonly FieldError[] {
  const spec = pod["spec"];
  if (!isJsonObject(spec)) return [typeError("spec", spec, "object")];
  if (old !== undefined) return immutableProblems(spec, old["spec"]);
  const containers = spec["containers"];
  if (!Array.isArray(containers) || containers.length === 0) {
    return [{ field: "spec.containers", reason: "FieldValueRequired", message: "Required value" }];
  }
  return [
    ...containerProblems(spec),
    ...volumeProblems(spec),
    ...supported(spec, "restartPolicy", ["Always", "OnFailure", "Never"]),
    ...supported(spec, "dnsPolicy", ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]),
    ...graceProblems(spec["terminationGracePeriodSeconds"]),
  ];
}

function containerProblems(spec: JsonObject): FieldError[] {
  const seen = new Set<unknown>();
  return ["initContainers", "containers"].flatMap((list) =>
    itemsOf(spec, list).flatMap((container, at) => oneContainer(container, `spec.${list}[${at}]`, seen)),
  );
}

function itemsOf(spec: JsonObject, list: string): JsonObject[] {
  const items = spec[list];
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}

function oneContainer(container: JsonObject, field: string, seen: Set<unknown>): FieldError[] {
  const { name, image } = container;
  const problems: FieldError[] = [];
  if (typeof name !== "string" || name === "") problems.push(required(`${field}.name`));
  else if (!isLabel(name)) problems.push(invalidValue(`${field}.name`, name, "a lowercase RFC 1123 label is required"));
  else if (seen.has(name)) problems.push(duplicate(`${field}.name`, name));
  seen.add(name);
  if (typeof image !== "string" || image === "") problems.push(required(`${field}.image`));
  else if (image.trim() !== image) {
    problems.push(invalidValue(`${field}.image`, image, "must not have leading or trailing whitespace"));
  }
  return [...problems, ...quantityProblems(container, field)];
}

const duplicate = (field: string, value: string): FieldError => ({
  field,
  reason: "FieldValueDuplicate",
  message: `Duplicate value: ${JSON.stringify(value)}`,
});

const required = (field: string): FieldError => ({ field, reason: "FieldValueRequired", message: "Required value" });

function quantityProblems(container: JsonObject, field: string): FieldError[] {
  return ["limits", "requests"].flatMap((which) => {
    const amounts = valueAt(container, "resources", which);
    if (!isJsonObject(amounts)) return [];
    return Object.entries(amounts).flatMap(([name, amount]) => {
      const value = parseQuantity(amount);
      const where = `${field}.resources.${which}[${name}]`;
      if (value === undefined) return [invalidValue(where, amount, "must be a quantity such as 500m or 1Gi")];
      return value < 0 ? [invalidValue(where, amount, "must be greater than or equal to 0")] : [];
    });
  });
}

function volumeProblems(spec: JsonObject): FieldError[] {
  return itemsOf(spec, "volumes").flatMap(({ name }, at) => {
    const field = `spec.volumes[${at}].name`;
    if (typeof name !== "string" || name === "") return [required(field)];
    return isLabel(name) ? [] : [invalidValue(field, name, "a lowercase RFC 1123 label is required")];
  });
}

function supported(spec: JsonObject, key: string, allowed: readonly string[]): FieldError[] {
  const value = spec[key];
  if (allowed.some((each) => each === value)) return [];
  const choices = allowed.map((each) => `"${each}"`).join(", ");
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${choices}`;
  return [{ field: `spec.${key}`, reason: "FieldValueNotSupported", message }];
}

function graceProblems(seconds: unknown): FieldError[] {
  if (Number.isSafeInteger(seconds) && (seconds as number) >= 0) return [];
  return [invalidValue("spec.terminationGracePeriodSeconds", seconds, "must be a whole number of seconds, 0 or more")];
}

/** A Pod that runs can change hardly anything about itself. */
function immutableProblems(spec: JsonObject, old: unknown): FieldError[] {
  if (!isJsonObject(old) || equalJson(fixedPart(spec), fixedPart(old))) return [];
  const message =
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations`";
  return [{ field: "spec", reason: "FieldValueForbidden", message }];
}

function withoutImages(list: unknown): unknown {
  if (!Array.isArray(list)) return null;
  return list.map((item: unknown) => (isJsonObject(item) ? { ...item, image: null } : item));
}

function fixedPart(spec: JsonObject): unknown {
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, ...rest } = spec;
  return {
    ...rest,
    containers: withoutImages(rest["containers"]),
    initContainers: withoutImages(rest["initContainers"]),
  };
}
