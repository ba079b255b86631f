import type { Json, StructuralSchema } from "@agent-sandbox/api";
import { type Definitions, definitionName, type OpenApiSchema } from "./kubernetes-definitions.ts";

/**
 * The rules that turn a definition of Kubernetes' OpenAPI documents into the structural schema that a CRD needs. The
 * documents describe what Go serialises; a CRD says what the API server must accept and store. They differ in these
 * places only:
 *
 * 1. References are inlined: structural schemas have none.
 * 2. A default on a required field, or an empty object as default, only spells Go's zero value: dropped.
 * 3. Types with a serialisation of their own (quantities, int-or-string, times) are spelled out, see `ownSerialisation`.
 * 4. Embedded ObjectMeta is any object: the API server knows its fields by itself.
 * 5. Hints for clients and strategic merge (patch strategy, unions) do not belong in a CRD: dropped.
 * 6. A type that embeds LocalObjectReference is an atomic map like it: the documents merge the embedded field in and
 *    lose the marker. The field is told by its shape, an optional name that defaults to the empty string.
 * 7. Defaults that Go spells as a reference to a constant are not defaults of a CRD, see `constantDefaults`.
 */
export function structuralSchemaOf(definitions: Definitions, name: string): StructuralSchema {
  const own = ownSerialisation[name];
  if (own !== undefined) return own;
  const definition = definitions[name];
  if (definition === undefined) throw new Error(`Cannot inline "${name}": not among the fetched definitions`);
  const schema = inline(definitions, withoutConstantDefaults(name, definition));
  return schema.properties?.name?.default === "" ? { ...schema, "x-kubernetes-map-type": "atomic" } : schema;
}

const keptExtensions = ["x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"] as const;

const ownSerialisation: { readonly [name: string]: StructuralSchema } = {
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": { type: "object" },
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": { type: "string", format: "date-time" },
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
    anyOf: [{ type: "integer" }, { type: "string" }],
    "x-kubernetes-int-or-string": true,
  },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": {
    anyOf: [{ type: "integer" }, { type: "string" }],
    pattern:
      "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": true,
  },
};

/**
 * The documents do not tell these from defaults written as literals, and the Go generator of CRDs that the ecosystem uses
 * leaves them out: with them, an object stored here would differ from the same one stored through such a CRD.
 */
const constantDefaults: { readonly [name: string]: readonly string[] } = {
  "io.k8s.api.core.v1.AzureDiskVolumeSource": ["cachingMode", "kind"],
};

function withoutConstantDefaults(name: string, definition: OpenApiSchema): OpenApiSchema {
  const properties = { ...definition.properties };
  for (const field of constantDefaults[name] ?? []) properties[field] = { ...properties[field], default: undefined };
  return { ...definition, properties };
}

function inline(definitions: Definitions, schema: OpenApiSchema): StructuralSchema {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (ref !== undefined) {
    const { $ref: _, allOf: __, ...beside } = schema;
    return { ...structuralSchemaOf(definitions, definitionName(ref)), ...inline(definitions, beside) };
  }
  return {
    ...pick(schema, ["description", "type", "format", ...keptExtensions]),
    ...(schema.required === undefined ? {} : { required: schema.required.toSorted() }),
    ...(schema.items === undefined ? {} : { items: inline(definitions, schema.items) }),
    ...(schema.properties === undefined ? {} : { properties: propertiesOf(definitions, schema) }),
    ...(schema.additionalProperties === undefined
      ? {}
      : { additionalProperties: inline(definitions, schema.additionalProperties) }),
  };
}

function propertiesOf(definitions: Definitions, schema: OpenApiSchema): { [name: string]: StructuralSchema } {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const chosen = !schema.required?.includes(name) && isChosenDefault(property.default);
    const inlined = inline(definitions, property);
    return [name, chosen ? { ...inlined, default: property.default as Json } : inlined] as const;
  });
  return Object.fromEntries(properties);
}

function isChosenDefault(value: unknown): boolean {
  return value !== undefined && typeof value !== "object";
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.filter((key) => key in from).map((key) => [key, from[key]])) as Pick<T, K>;
}
