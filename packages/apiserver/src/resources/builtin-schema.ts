import type { Json } from "@agent-sandbox/api/schema";
import { goDefaults } from "./builtin-defaults.ts";
import { builtinDefinitions, type OpenApiSchema, referenceOf } from "./builtin-definitions.ts";
import type { Schema } from "./definition.ts";

/** The stored form of values that can be written in several ways. */
export type CanonicalForm = "quantity" | "time" | "micro-time";

/** The schema of a built-in kind: a structural schema with the extensions of strategic merge and the stored form of values. */
export type BuiltinSchema = Schema & {
  readonly "x-stored-as"?: CanonicalForm;
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
};

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const apiextensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";
const anything: BuiltinSchema = { "x-kubernetes-preserve-unknown-fields": true };
const text: BuiltinSchema = { type: "string" };

/** Types whose wire format the documents do not describe, and one that refers to itself. */
const ownForms: { readonly [definition: string]: BuiltinSchema } = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": {
    "x-kubernetes-preserve-unknown-fields": true,
    "x-stored-as": "quantity",
  },
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { "x-kubernetes-int-or-string": true },
  [`${meta}Time`]: { type: "string", format: "date-time", nullable: true, "x-stored-as": "time" },
  [`${meta}MicroTime`]: { type: "string", format: "date-time", nullable: true, "x-stored-as": "micro-time" },
  [`${meta}FieldsV1`]: { type: "object", ...anything },
  [`${apiextensions}JSONSchemaProps`]: { type: "object", ...anything },
};

/** Fields whose values must not appear in errors. The strategy of the kind validates them. */
const hidden: { readonly [definition: string]: readonly string[] } = {
  "io.k8s.api.core.v1.Secret": ["data"],
};

const built = new Map<string, BuiltinSchema>();

/**
 * The schema of a definition. It has no required fields: Go sets missing fields to their zero value, and the strategies of the
 * kinds check which may not be empty. Schemas that several kinds use are the same JavaScript object, so results for a schema
 * are computed once. A schema is built when it is first used, which keeps the start of the server fast.
 */
export function builtinSchema(definition: string): BuiltinSchema {
  let schema = built.get(definition);
  if (schema === undefined) {
    schema = ownForms[definition] ?? build(definition);
    built.set(definition, schema);
  }
  return schema;
}

function build(name: string): BuiltinSchema {
  const definition = builtinDefinitions[name];
  if (definition === undefined) throw new Error(`Cannot serve "${name}": Kubernetes' documents do not define it`);
  const schema = convert(definition, name);
  const fields = hidden[name] ?? [];
  if (fields.length === 0) return schema;
  const open = fields.map((field) => [field, { type: "object", additionalProperties: text }] as const);
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(open) } };
}

const extensions = [
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-patch-merge-key",
] as const;

function convert(schema: OpenApiSchema, definition?: string): BuiltinSchema {
  const reference = referenceOf(schema);
  const { type, format, items, additionalProperties } = schema;
  return {
    ...(reference === undefined ? {} : builtinSchema(reference)),
    ...(type === undefined ? {} : { type }),
    ...(format === undefined ? {} : { format }),
    ...(items === undefined ? {} : { items: convert(items) }),
    ...(typeof additionalProperties === "object" ? { additionalProperties: convert(additionalProperties) } : {}),
    ...(schema.properties === undefined ? {} : { properties: propertiesOf(schema, definition ?? "") }),
    ...Object.fromEntries(extensions.flatMap((key) => (key in schema ? [[key, schema[key]]] : []))),
  };
}

function propertiesOf({ properties = {}, required }: OpenApiSchema, definition: string): Record<string, BuiltinSchema> {
  const defaults = goDefaults[definition] ?? {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const needed = required?.includes(name) === true;
      const value = name in defaults ? defaults[name] : publishedDefault(property.default, needed);
      const schema = convert(property);
      return [name, value === undefined ? schema : { ...schema, default: value }] as const;
    }),
  );
}

/** Go encodes required fields and structs even if they are empty, and omits other empty values, which need no default. */
function publishedDefault(value: unknown, required: boolean): Json | undefined {
  return required || (value !== "" && value !== 0) ? (value as Json | undefined) : undefined;
}
