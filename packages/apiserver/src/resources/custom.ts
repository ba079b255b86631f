import { type CustomResourceDefinition, convert } from "@agent-sandbox/api";
import { crds } from "@agent-sandbox/api/crds";
import { ApiError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import { ageColumn } from "../table/column.ts";
import { customColumn } from "../table/custom-columns.ts";
import { compileJsonPath } from "../table/json-path.ts";
import type { ResourceDefinition, ServedVersion, Strategy } from "./definition.ts";

type CustomVersion = CustomResourceDefinition["spec"]["versions"][number] & {
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
};

const sandboxStrategy: Strategy = {
  convert: (object, apiVersion) => {
    const converted = convert(object, apiVersion);
    if ("error" in converted) throw new ApiError("InternalError", converted.error);
    return converted.object as unknown as ApiObject;
  },
};

/** The platform's own kinds, as their CustomResourceDefinitions describe them. */
export const sandboxDefinitions: readonly ResourceDefinition[] = crds.map((crd) => defineCustom(crd, sandboxStrategy));

/** A kind as a CustomResourceDefinition that has been found valid describes it. */
export function defineCustom(
  { spec, metadata }: CustomResourceDefinition,
  strategy: Strategy = strategyOf(metadata.deletionTimestamp !== undefined),
): ResourceDefinition {
  const { group, names } = spec;
  const versions = spec.versions
    .filter(({ served, storage }) => served || storage)
    .sort((left, right) => Number(right.storage) - Number(left.storage))
    .map((version) => servedVersion(group, version, names.kind));
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
    returnsDeleted: false,
    strategy: { selectableFields: selectableFields(spec.versions), ...strategy },
  };
}

/** The fields by which objects can be selected besides their name, as the stored version names them. */
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

/** A kind that is going takes no new objects, or it would never be gone. */
function strategyOf(terminating: boolean): Strategy {
  if (!terminating) return {};
  return {
    prepareCreate: () => {
      throw new ApiError("MethodNotAllowed", "create not allowed while custom resource definition is terminating");
    },
  };
}

function servedVersion(group: string, version: CustomVersion, kind: string): ServedVersion {
  const apiVersion = `${group}/${version.name}`;
  const columns = version.additionalPrinterColumns?.map(customColumn) ?? [ageColumn];
  const schema = version.schema?.openAPIV3Schema;
  if (schema === undefined) throw new Error(`Cannot serve ${kind}: version "${version.name}" has no schema`);
  return {
    group,
    version: version.name,
    apiVersion,
    schema,
    served: version.served,
    hasStatus: version.subresources?.status !== undefined,
    scale: version.subresources?.scale,
    deprecationWarning:
      version.deprecated === true ? (version.deprecationWarning ?? `${apiVersion} ${kind} is deprecated`) : undefined,
    columns,
  };
}
