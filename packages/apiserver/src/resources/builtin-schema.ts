import type { Json } from "@agent-sandbox/api/schema";
import { goDefaults } from "./builtin-defaults.ts";
import { builtinDefinitions, type OpenApiSchema, referenceOf } from "./builtin-definitions.ts";
import type { Schema } from "./definition.ts";

/** How a value that may be written in several ways is stored. */
export type CanonicalForm = "quantity" | "time" | "micro-time";

/** The schema of a built-in kind: structural, with what strategic merge reads and the stored form of values. */
export type BuiltinSchema = Schema & {
  readonly "x-stored-as"?: CanonicalForm;
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
};

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const apiextensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";
const anything: BuiltinSchema = { "x-kubernetes-preserve-unknown-fields": true };
const text: BuiltinSchema = { type: "string" };

/** Types whose form on the wire the documents do not say, and one that refers to itself. */
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

/** Fields whose values errors must not show: their own kind checks them. */
const hidden: { readonly [definition: string]: readonly string[] } = {
  "io.k8s.api.core.v1.Secret": ["data"],
};

const built = new Map<string, BuiltinSchema>();

/**
 * The schema of a definition. It requires nothing: Go fills in what is missing, and the rules of the kinds name what may
 * not be empty. Parts that several kinds have are the same objects everywhere, so that what is worked out
 * about a schema is worked out once; it is built when it is first asked for, which keeps the server's start quick.
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

/**
 * Go writes required fields and plain structures even when they are empty, and leaves other empty values out: only an
 * empty value of the latter kind is no default.
 */
function publishedDefault(value: unknown, required: boolean): Json | undefined {
  return required || (value !== "" && value !== 0) ? (value as Json | undefined) : undefined;
}
