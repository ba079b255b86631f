import { builtinDefinitions, type OpenApiSchema, referenceOf, referenceTo } from "../resources/builtin-definitions.ts";
import { definitionNameOf } from "../resources/builtin-kinds.ts";
import type { ServedResource } from "../resources/registry.ts";
import { describeAs, describeCustom } from "./descriptions.ts";

export type Schemas = Record<string, OpenApiSchema>;

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.";
export const statusName: string = `${meta}Status`;
export const deleteOptionsName: string = `${meta}DeleteOptions`;
export const scaleName = "io.k8s.api.autoscaling.v1.Scale";

/** The name of a kind's schema: Kubernetes' own name for built-in kinds, derived from the reversed group for others. */
export function schemaNameOf({ definition, version }: ServedResource): string {
  if (definition.typed) return definitionNameOf(version.apiVersion, definition.kind);
  return [...version.group.split(".").toReversed(), version.version, definition.kind].join(".");
}

/** The schemas of the given resources, their lists, and everything those refer to. */
export function schemasOf(resources: readonly ServedResource[]): Schemas {
  const schemas: Schemas = {};
  const include = (name: string): void => {
    if (schemas[name] !== undefined) return;
    const definition = builtinDefinitions[name];
    if (definition === undefined) return;
    schemas[name] = describeAs(name, definition);
    for (const reference of referencesIn(definition)) include(reference);
  };
  for (const served of resources) {
    const name = schemaNameOf(served);
    if (served.definition.typed) include(name);
    else schemas[name] = served.definition.review === undefined ? customSchema(served) : reviewSchema(served);
    schemas[`${name}List`] = listSchema(served, name);
  }
  for (const name of [statusName, deleteOptionsName, scaleName, `${meta}ObjectMeta`, `${meta}ListMeta`]) include(name);
  return schemas;
}

const groupVersionKind = (group: string, version: string, kind: string): OpenApiSchema => ({
  "x-kubernetes-group-version-kind": [{ group, version, kind }],
});

const typeFields: { readonly [name: string]: OpenApiSchema } = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
};

function customSchema({ definition, version }: ServedResource): OpenApiSchema {
  const { properties, ...rest } = version.schema as OpenApiSchema;
  const metadata: OpenApiSchema = { allOf: [referenceTo(`${meta}ObjectMeta`)] };
  return describeCustom({
    ...rest,
    type: "object",
    properties: { ...properties, ...typeFields, metadata },
    ...groupVersionKind(version.group, version.version, definition.kind),
  });
}

/** Reviews are Kubernetes' kinds, but their schemas are ours. */
function reviewSchema(served: ServedResource): OpenApiSchema {
  const name = definitionNameOf(served.version.apiVersion, served.definition.kind);
  const { properties = {}, ...rest } = customSchema(served);
  const spec = describeAs(`${name}Spec`, properties["spec"] ?? {});
  return describeAs(name, { ...rest, properties: { ...properties, spec } });
}

function listSchema({ definition, version }: ServedResource, item: string): OpenApiSchema {
  const schema: OpenApiSchema = {
    type: "object",
    required: ["items"],
    properties: {
      ...typeFields,
      metadata: { allOf: [referenceTo(`${meta}ListMeta`)] },
      items: {
        type: "array",
        items: { allOf: [referenceTo(item)] },
        ...(definition.typed ? {} : { description: `List of ${definition.plural}` }),
      },
    },
    ...groupVersionKind(version.group, version.version, `${definition.kind}List`),
  };
  const described = definition.typed ? describeAs(`${item}List`, schema) : describeCustom(schema);
  return { description: `${definition.kind}List is a list of ${definition.kind}`, ...described };
}

function* referencesIn(schema: OpenApiSchema): Generator<string> {
  const reference = referenceOf(schema);
  if (reference !== undefined) yield reference;
  const { properties = {}, items, additionalProperties } = schema;
  for (const part of [...Object.values(properties), items, additionalProperties]) {
    if (typeof part === "object") yield* referencesIn(part);
  }
}
