import type { Json, StructuralSchema } from "@agent-sandbox/api";
import { type Definitions, definitionName, type OpenApiSchema } from "./kubernetes-definitions.ts";

/**
 * The rules that turn a definition of Kubernetes' OpenAPI documents into the structural schema that a CRD needs. The
 * documents describe what Go serialises; a CRD defines what the API server accepts and stores. These are the differences:
 *
 * 1. References are inlined: structural schemas have none.
 * 2. A default on a required field, or an empty object as default, only stands for Go's zero value and is dropped.
 * 3. Types with a serialisation of their own (quantities, int-or-string, times) are spelled out, see `ownSerialisation`.
 * 4. Embedded ObjectMeta is any object, because the API server validates its fields itself.
 * 5. Hints for clients and strategic merge (patch strategy, unions) are dropped, because a CRD cannot contain them.
 * 6. A type that embeds LocalObjectReference is an atomic map, too. The documents contain the embedded field without the marker,
 *    so it is recognised by its form: an optional name with the empty string as default.
 * 7. Defaults that are references to Go constants are not defaults of a CRD, see `constantDefaults`.
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
 * The documents do not distinguish these from literal defaults, but controller-gen leaves them out. With them, an object stored
 * through our CRDs would differ from one stored through CRDs of controller-gen.
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
