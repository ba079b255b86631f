import type { CustomResourceDefinition } from "@agent-sandbox/api";
import { convert } from "@agent-sandbox/api/conversion";
import { crds } from "@agent-sandbox/api/crds";
import { ApiError, type FieldError } from "../api-error.ts";
import { type ApiObject, valueAt } from "../api-object.ts";
import { customAgeColumn, customColumn } from "../table/custom-columns.ts";
import { compileJsonPath } from "../table/json-path.ts";
import type { ResourceDefinition, ScalePaths, ServedVersion, Strategy } from "./definition.ts";
import { invalidValue } from "./field-problems.ts";
import { compareVersions } from "./version-priority.ts";

type CustomVersion = CustomResourceDefinition["spec"]["versions"][number] & {
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
};

const sandboxStrategy: Strategy = {
  convert: (object, apiVersion) => {
    const converted = convert(object, apiVersion);
    if ("error" in converted) throw new ApiError("InternalError", converted.error);
    return converted.object as unknown as ApiObject;
  },
  validate: stateProblems,
};

const statePrefix = "api.agents.x-k8s.io/";

/**
 * Refuses invalid annotations in which one version keeps the fields that the other version lacks. They would make every list in
 * the other version fail, in all namespaces. Unchanged annotations are accepted, so that an old object can still be changed
 * and deleted.
 */
function stateProblems(object: ApiObject, old: ApiObject | undefined): readonly FieldError[] {
  const state = statesOf(object);
  if (state === "" || state === statesOf(old)) return [];
  const other = object.apiVersion.replace(/v1(?:alpha1|beta1)$/, (version) =>
    version === "v1beta1" ? "v1alpha1" : "v1beta1",
  );
  const converted = convert(object, other);
  return "error" in converted ? [invalidValue("metadata.annotations", state.slice(0, 200), converted.error)] : [];
}

function statesOf(object: ApiObject | undefined): string {
  const states = Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => key.startsWith(statePrefix));
  return states.length === 0 ? "" : JSON.stringify(states);
}

/** The platform's own kinds, defined by their CustomResourceDefinitions. */
export const sandboxDefinitions: readonly ResourceDefinition[] = crds.map((crd) =>
  crd.spec.versions.length === 1 ? defineCustom(crd) : defineCustom(crd, sandboxStrategy),
);

/** The definition of a kind from a valid CustomResourceDefinition. */
export function defineCustom(
  { spec, metadata }: CustomResourceDefinition,
  strategy: Strategy = strategyOf(metadata.deletionTimestamp !== undefined),
): ResourceDefinition {
  const { group, names } = spec;
  const versions = spec.versions
    .filter(({ served, storage }) => served || storage)
    .sort((left, right) => Number(right.storage) - Number(left.storage))
    .map((version) => servedVersion(version, spec));
  return {
    id: `${names.plural}.${group}`,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: spec.scope === "Namespaced",
    versions: versions as [ServedVersion, ...ServedVersion[]],
    nameRule: "subdomain",
    typed: false,
    hasGeneration: true,
    unconditionalUpdate: false,
    createsOnUpdate: false,
    deletesCollections: true,
    returnsDeleted: false,
    statusTakesMetadata: false,
    finalizerRule: "any",
    strategy: {
      selectableFields: selectableFields(spec.versions),
      ...strategy,
      ...bothRules(scaleRules(versions[0]?.scale), strategy),
    },
  };
}

/** The additional fields for field selectors, from the stored version. */
function selectableFields(versions: readonly CustomVersion[]): NonNullable<Strategy["selectableFields"]> {
  const stored = versions.find(({ storage }) => storage);
  const fields = (stored?.selectableFields ?? []).map(({ jsonPath }) => {
    const path = compileJsonPath(jsonPath);
    const read = (object: ApiObject): string => {
      const [value] = path?.(object) ?? [];
      return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    };
    return [jsonPath.replace(/^\./, ""), read] as const;
  });
  return Object.fromEntries(fields);
}

const maxReplicas = 2 ** 31 - 1;

/** A kind with a scale subresource must have valid numbers of replicas, even if its schema does not check them. */
function scaleRules(scale: ScalePaths | undefined): Strategy {
  if (scale === undefined) return {};
  const paths = [scale.specReplicasPath, scale.statusReplicasPath].map(
    (path) => [path, path.split(".").filter((key) => key !== "")] as const,
  );
  return {
    validate: (object) =>
      paths.flatMap(([path, keys]) => {
        const replicas = valueAt(object, ...keys) ?? 0;
        if (typeof replicas !== "number") return [invalidValue(path, replicas, "should be a number")];
        if (replicas < 0) return [invalidValue(path, replicas, "should be a non-negative integer")];
        if (replicas <= maxReplicas) return [];
        return [invalidValue(path, replicas, `should be less than or equal to ${maxReplicas}`)];
      }),
  };
}

function bothRules(first: Strategy, second: Strategy): Strategy {
  if (first.validate === undefined && second.validate === undefined) return {};
  return {
    validate: (...given) => [...(first.validate?.(...given) ?? []), ...(second.validate?.(...given) ?? [])],
  };
}

/** Refuses new objects of a kind whose definition is being deleted. Otherwise the deletion might never finish. */
function strategyOf(terminating: boolean): Strategy {
  if (!terminating) return {};
  return {
    prepareCreate: () => {
      throw new ApiError("MethodNotAllowed", "create not allowed while custom resource definition is terminating");
    },
  };
}

function servedVersion(version: CustomVersion, spec: CustomResourceDefinition["spec"]): ServedVersion {
  const { group, names } = spec;
  const apiVersion = `${group}/${version.name}`;
  const columns = version.additionalPrinterColumns?.map(customColumn) ?? [customAgeColumn];
  const schema = version.schema?.openAPIV3Schema;
  if (schema === undefined) throw new Error(`Cannot serve ${names.kind}: version "${version.name}" has no schema`);
  return {
    group,
    version: version.name,
    apiVersion,
    schema,
    served: version.served,
    hasStatus: version.subresources?.status !== undefined,
    scale: version.subresources?.scale,
    deprecationWarning:
      version.deprecated === true ? (version.deprecationWarning ?? plainWarning(version.name, spec)) : undefined,
    columns,
  };
}

function plainWarning(deprecated: string, { group, names, versions }: CustomResourceDefinition["spec"]): string {
  const [better] = versions
    .filter((version) => version.served && version.deprecated !== true)
    .map(({ name }) => name)
    .filter((name) => compareVersions(name, deprecated) < 0)
    .sort(compareVersions);
  const instead = better === undefined ? "" : `; use ${group}/${better} ${names.kind}`;
  return `${group}/${deprecated} ${names.kind} is deprecated${instead}`;
}
