import type { FieldError } from "../../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt } from "../../api-object.ts";
import type { Interner } from "../../interner.ts";
import { equalJson } from "../../json.ts";
import { duplicate, forbidden, invalidValue, required } from "../field-problems.ts";
import { labelField, oneOf } from "../field-rules.ts";
import { labelMapProblems } from "../label-selector.ts";
import { subdomainProblems } from "../names.ts";
import {
  containerProblems,
  hostPortProblems,
  initContainerProblems,
  restartRuleProblems,
} from "./container-validation.ts";
import { securityProblems, tolerationProblems } from "./placement-validation.ts";
import { surroundingsProblems } from "./surroundings-validation.ts";
import { volumeProblems } from "./volume-validation.ts";

/** The rules of a Pod that a schema cannot express. The types of its fields were checked against the schema before. */
export function validatePod(pod: ApiObject, old: ApiObject | undefined, interner: Interner): readonly FieldError[] {
  const spec = pod["spec"];
  if (!isJsonObject(spec)) return [required("spec")];
  return old === undefined ? interner.memo(specProblems, spec) : updateProblems(spec, old["spec"]);
}

function specProblems(spec: JsonObject): readonly FieldError[] {
  const { names, problems } = volumeProblems(spec);
  return [
    ...problems,
    ...allContainerProblems(spec, names),
    ...(objectsAt(spec, "ephemeralContainers").length > 0
      ? [forbidden("spec.ephemeralContainers", "cannot be set on create")]
      : []),
    ...oneOf(spec, "restartPolicy", "spec", ["Always", "OnFailure", "Never"]),
    ...oneOf(spec, "dnsPolicy", "spec", ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]),
    ...labelMapProblems(spec["nodeSelector"], "spec.nodeSelector"),
    ...securityProblems(spec["securityContext"], "spec.securityContext"),
    ...surroundingsProblems(spec),
    ...tolerationProblems(spec),
    ...deadlineProblems(spec["activeDeadlineSeconds"], 1),
    ...["serviceAccountName", "nodeName", "runtimeClassName", "priorityClassName"].flatMap((key) =>
      subdomainField(spec, key),
    ),
    ...["hostname", "subdomain"].flatMap((key) => ((spec[key] ?? "") === "" ? [] : labelField(spec, key, "spec"))),
  ];
}

function allContainerProblems(spec: JsonObject, volumes: ReadonlySet<string>): FieldError[] {
  const containers = objectsAt(spec, "containers");
  if (containers.length === 0) return [required("spec.containers")];
  const names = new Set<unknown>();
  const each = (list: string): FieldError[] =>
    objectsAt(spec, list).flatMap((container, at) => {
      const path = `spec.${list}[${at}]`;
      const { name } = container;
      const repeated = name !== "" && names.has(name);
      names.add(name);
      return [
        ...containerProblems(container, path, volumes),
        ...(repeated ? [duplicate(`${path}.name`, name)] : []),
        ...restartRuleProblems(container, path),
        ...(list === "initContainers" ? initContainerProblems(container, path) : []),
      ];
    });
  return [...each("containers"), ...hostPortProblems(containers, "spec.containers"), ...each("initContainers")];
}

function subdomainField(spec: JsonObject, key: string): FieldError[] {
  const value = stringAt(spec, key) ?? "";
  if (value === "") return [];
  return subdomainProblems(value).map((problem) => invalidValue(`spec.${key}`, value, problem));
}

const maxSeconds = 2 ** 31 - 1;

function deadlineProblems(seconds: unknown, least: number): FieldError[] {
  if (typeof seconds !== "number" || (seconds >= least && seconds <= maxSeconds)) return [];
  const why = `must be between ${least} and ${maxSeconds}, inclusive`;
  return [invalidValue("spec.activeDeadlineSeconds", seconds, why)];
}

/** Only a few fields of a Pod can change after its creation. */
function updateProblems(spec: JsonObject, old: unknown): FieldError[] {
  if (!isJsonObject(old) || equalJson(spec, old)) return [];
  const problems = [
    ...countProblems(spec, old),
    ...imageProblems(spec),
    ...changedDeadlineProblems(spec, old),
    ...changedTolerationProblems(spec, old),
    ...newGateProblems(spec, old),
  ];
  if (problems.length > 0 || equalJson(fixedPart(spec), fixedPart(old))) return problems;
  const changeable =
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
  return [forbidden("spec", `pod updates may not change fields other than ${changeable}`)];
}

function countProblems(spec: JsonObject, old: JsonObject): FieldError[] {
  return ["containers", "initContainers"].flatMap((list) =>
    objectsAt(spec, list).length === objectsAt(old, list).length
      ? []
      : [forbidden(`spec.${list}`, "pod updates may not add or remove containers")],
  );
}

function imageProblems(spec: JsonObject): FieldError[] {
  return ["containers", "initContainers"].flatMap((list) =>
    objectsAt(spec, list).flatMap(({ image = "" }, at) =>
      image === "" ? [required(`spec.${list}[${at}].image`)] : [],
    ),
  );
}

function changedDeadlineProblems(spec: JsonObject, old: JsonObject): FieldError[] {
  const seconds = spec["activeDeadlineSeconds"];
  const before = old["activeDeadlineSeconds"];
  const field = "spec.activeDeadlineSeconds";
  if (typeof before !== "number") return deadlineProblems(seconds, 0);
  if (typeof seconds !== "number") {
    return [invalidValue(field, null, "must not update from a positive integer to nil value")];
  }
  if (seconds > before) return [invalidValue(field, seconds, "must be less than or equal to previous value")];
  return deadlineProblems(seconds, 0);
}

/** Tolerations can be added, and their tolerationSeconds can change. */
function changedTolerationProblems(spec: JsonObject, old: JsonObject): FieldError[] {
  const timeless = (each: JsonObject): JsonObject => ({ ...each, tolerationSeconds: null });
  const now = objectsAt(spec, "tolerations").map(timeless);
  const kept = objectsAt(old, "tolerations").every((before) => now.some((each) => equalJson(each, timeless(before))));
  const why = "existing toleration can not be modified except its tolerationSeconds";
  return kept ? [] : [forbidden("spec.tolerations", why)];
}

/** Scheduling gates can be removed, but not added after the creation. */
function newGateProblems(spec: JsonObject, old: JsonObject): FieldError[] {
  const known = new Set(objectsAt(old, "schedulingGates").map(({ name }) => name));
  return objectsAt(spec, "schedulingGates").flatMap(({ name }, at) => {
    if (known.has(name)) return [];
    const why = `only deletion is allowed, but found new scheduling gate '${String(name)}'`;
    return [forbidden(`spec.schedulingGates[${at}].name`, why)];
  });
}

function withoutImages(list: unknown): unknown {
  if (!Array.isArray(list)) return null;
  return list.map((item: unknown) => (isJsonObject(item) ? { ...item, image: null } : item));
}

function fixedPart(spec: JsonObject): unknown {
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, schedulingGates: _gates, ...rest } = spec;
  return {
    ...rest,
    containers: withoutImages(rest["containers"]),
    initContainers: withoutImages(rest["initContainers"]),
  };
}
