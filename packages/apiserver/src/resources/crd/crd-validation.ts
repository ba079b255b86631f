import type { FieldError } from "../../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt, valueAt } from "../../api-object.ts";
import { immutable, invalidValue, required } from "../field-problems.ts";
import { oneOf } from "../field-rules.ts";
import { nameProblems, subdomainProblems } from "../names.ts";
import { structuralProblems } from "./structural-problems.ts";

/** The problems of a CustomResourceDefinition. The schema has checked the types before. */
export function crdProblems(crd: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec = crd["spec"];
  if (!isJsonObject(spec)) return [required("spec")];
  return [
    ...ownNameProblems(crd, spec),
    ...groupProblems(crd, spec),
    ...(old === undefined ? [] : changeProblems(spec, old["spec"])),
    ...oneOf(spec, "scope", "spec", ["Cluster", "Namespaced"]),
    ...namesProblems(spec["names"]),
    ...versionsProblems(spec),
    ...storedVersionProblems(crd, spec),
    ...(spec["preserveUnknownFields"] === true
      ? [
          invalidValue(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
          ),
        ]
      : []),
  ];
}

function ownNameProblems({ metadata }: ApiObject, spec: JsonObject): FieldError[] {
  const wanted = `${stringAt(spec, "names", "plural") ?? ""}.${stringAt(spec, "group") ?? ""}`;
  if (metadata.name === wanted) return [];
  return [invalidValue("metadata.name", metadata.name, 'must be spec.names.plural+"."+spec.group')];
}

const approval = "api-approved.kubernetes.io";

function groupProblems({ metadata }: ApiObject, spec: JsonObject): FieldError[] {
  const group = stringAt(spec, "group") ?? "";
  if (group === "") return [required("spec.group")];
  const problems = subdomainProblems(group);
  if (problems.length > 0) return problems.map((problem) => invalidValue("spec.group", group, problem));
  if (!group.includes(".")) return [invalidValue("spec.group", group, "should be a domain with at least one dot")];
  const guarded = group.endsWith(".k8s.io") || group.endsWith(".kubernetes.io");
  if (!guarded || metadata.annotations?.[approval] !== undefined) return [];
  const why = `protected groups must have approval annotation "${approval}", see https://github.com/kubernetes/enhancements/pull/1111`;
  return [required(`metadata.annotations[${approval}]`, why)];
}

/** These fields cannot change, because objects are stored under them. */
function changeProblems(spec: JsonObject, old: unknown): FieldError[] {
  return [["group"], ["scope"], ["names", "kind"], ["names", "plural"]].flatMap((path) =>
    valueAt(spec, ...path) === valueAt(old, ...path)
      ? []
      : [immutable(`spec.${path.join(".")}`, valueAt(spec, ...path))],
  );
}

function namesProblems(names: unknown): FieldError[] {
  if (!isJsonObject(names)) return [required("spec.names")];
  const single = ["plural", "singular", "kind", "listKind"].flatMap((key) => {
    const name = stringAt(names, key) ?? "";
    const field = `spec.names.${key}`;
    if (name === "") return [required(field)];
    const mixed = key === "kind" || key === "listKind";
    const hint = mixed ? "may have mixed case, but should otherwise match: " : "";
    return nameProblems(mixed ? name.toLowerCase() : name, "service").map((problem) =>
      invalidValue(field, name, hint + problem),
    );
  });
  const many = ["shortNames", "categories"].flatMap((key) => {
    const list = names[key];
    return (Array.isArray(list) ? list : []).flatMap((name: unknown, at) =>
      nameProblems(String(name), "service").map((problem) => invalidValue(`spec.names.${key}[${at}]`, name, problem)),
    );
  });
  const same = names["kind"] !== undefined && names["kind"] === names["listKind"];
  const clash = same
    ? [invalidValue("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")]
    : [];
  return [...single, ...many, ...clash];
}

function versionsProblems(spec: JsonObject): FieldError[] {
  const versions = objectsAt(spec, "versions");
  const names = versions.map(({ name }) => name);
  const stored = versions.filter(({ storage }) => storage === true);
  return [
    ...versions.flatMap((version, at) => versionProblems(version, at, versions.length === 1)),
    ...(new Set(names).size === names.length
      ? []
      : [invalidValue("spec.versions", names, "must contain unique version names")]),
    ...(stored.length === 1
      ? []
      : [invalidValue("spec.versions", names, "must have exactly one version marked as storage version")]),
  ];
}

/** For a definition with a single version, kube-apiserver reports the fields of the version as fields of the spec. */
function versionProblems(version: JsonObject, at: number, single: boolean): FieldError[] {
  const name = stringAt(version, "name") ?? "";
  const own = `spec.versions[${at}]`;
  const path = single ? "spec" : own;
  const schema = valueAt(version, "schema", "openAPIV3Schema");
  const schemaPath = single && schema !== undefined ? "spec.validation" : `${own}.schema`;
  return [
    ...nameProblems(name, "service").map((problem) => invalidValue(`${own}.name`, name, problem)),
    ...structuralProblems(schema, `${schemaPath}.openAPIV3Schema`),
    ...objectsAt(version, "additionalPrinterColumns").flatMap((column, index) =>
      columnProblems(column, `${path}.additionalPrinterColumns[${index}]`),
    ),
    ...scaleProblems(valueAt(version, "subresources", "scale"), `${path}.subresources`),
  ];
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];

function columnProblems(column: JsonObject, path: string): FieldError[] {
  const { type = "" } = column;
  const choices = `must be one of ${columnTypes.join(",")}`;
  return [
    ...((column["name"] ?? "") === "" ? [required(`${path}.name`)] : []),
    ...(type === ""
      ? [required(`${path}.type`, choices)]
      : columnTypes.some((each) => each === type)
        ? []
        : [invalidValue(`${path}.type`, type, choices)]),
    ...((column["jsonPath"] ?? "") === "" ? [required(`${path}.JSONPath`)] : []),
  ];
}

function scaleProblems(scale: unknown, path: string): FieldError[] {
  if (!isJsonObject(scale)) return [];
  return (
    [
      ["specReplicasPath", ".spec."],
      ["statusReplicasPath", ".status."],
    ] as const
  ).flatMap(([key, prefix]) => {
    const value = stringAt(scale, key) ?? "";
    const field = `${path}.scale.${key}`;
    if (value === "") return [required(field)];
    if (!value.startsWith(".")) return [invalidValue(field, value, "must be a simple json path starting with .")];
    return value.startsWith(prefix)
      ? []
      : [invalidValue(field, value, `should be a json path under ${prefix.slice(0, -1)}`)];
  });
}

/** A version in `status.storedVersions` cannot be removed, because objects may still be stored in it. */
function storedVersionProblems(crd: ApiObject, spec: JsonObject): FieldError[] {
  const stored = valueAt(crd, "status", "storedVersions");
  const names = objectsAt(spec, "versions").map(({ name }) => name);
  return (Array.isArray(stored) ? (stored as unknown[]) : []).flatMap((name, at) => {
    if (names.includes(name)) return [];
    const version = String(name);
    const why = `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`;
    return [invalidValue(`status.storedVersions[${at}]`, version, why)];
  });
}
