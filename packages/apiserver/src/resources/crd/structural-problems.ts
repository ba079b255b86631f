import { applyDefaults, type Json, type StructuralSchema, validate } from "@agent-sandbox/api/schema";
import type { FieldError } from "../../api-error.ts";
import { isJsonObject, type JsonObject } from "../../api-object.ts";
import { forbidden, invalidValue, notSupported, required } from "../field-problems.ts";
import { ruleProblems } from "./rule-problems.ts";

/** The place of a part in a schema, which decides what the part must contain. */
type Place = "root" | "field" | "item" | "value";

/** More than any real schema has. Deeper schemas could exhaust the stack. */
const maxDepth = 100;

/** Why a schema is not structural, in the words of kube-apiserver. The schema is unchecked input. */
export function structuralProblems(schema: unknown, path: string): FieldError[] {
  if (!isJsonObject(schema)) return [required(path)];
  const problems = partProblems(schema, path, "root", 0);
  if (problems.length > 0) return problems;
  const checked = schema as unknown as StructuralSchema;
  return [...ruleProblems(checked, path), ...defaultProblems(checked, path)];
}

const unsupported = ["$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"];
const types = ["array", "boolean", "integer", "number", "object", "string"];

function partProblems(schema: JsonObject, path: string, place: Place, depth: number): FieldError[] {
  if (depth > maxDepth) return [forbidden(path, `must not be nested deeper than ${maxDepth} levels`)];
  return [
    ...unsupported
      .filter((key) => schema[key] !== undefined)
      .map((key) => forbidden(`${path}.${key}`, `${key} is not supported`)),
    ...(schema["uniqueItems"] === true
      ? [
          forbidden(
            `${path}.uniqueItems`,
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
          ),
        ]
      : []),
    ...contentProblems(schema, path, place),
    ...typeProblems(schema, path, place),
    ...listProblems(schema, path),
    ...patternProblems(schema["pattern"], `${path}.pattern`),
    ...junctorProblems(schema, path, depth),
    ...childProblems(schema, path, depth),
  ];
}

const missingType: { readonly [place in Place]: string } = {
  root: "must not be empty at the root",
  field: "must not be empty for specified object fields",
  item: "must not be empty for specified array items",
  value: "must not be empty for specified object fields",
};

function typeProblems(schema: JsonObject, path: string, place: Place): FieldError[] {
  const field = `${path}.type`;
  const { type } = schema;
  const embedded = schema["x-kubernetes-embedded-resource"] === true;
  if (type === undefined || type === "") {
    if (embedded) return [required(field, "must be object if x-kubernetes-embedded-resource is true")];
    const open =
      place !== "root" &&
      (schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true);
    return open ? [] : [required(field, missingType[place])];
  }
  if (!types.some((each) => each === type)) return [notSupported(field, type, types)];
  if (place === "root" && type !== "object") return [invalidValue(field, type, "must be object at the root")];
  if (embedded && type !== "object") {
    return [invalidValue(field, type, "must be object if x-kubernetes-embedded-resource is true")];
  }
  return [];
}

function contentProblems(schema: JsonObject, path: string, place: Place): FieldError[] {
  const { properties, additionalProperties, items, type } = schema;
  const embedded = schema["x-kubernetes-embedded-resource"] === true;
  const open = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const both =
    isJsonObject(properties) &&
    Object.keys(properties).length > 0 &&
    additionalProperties !== undefined &&
    additionalProperties !== false;
  return [
    ...(type === "array" && items === undefined && !open ? [required(`${path}.items`, "must be specified")] : []),
    ...(Array.isArray(items) ? [forbidden(`${path}.items`, "items must be a schema object and not an array")] : []),
    ...(both
      ? [forbidden(`${path}.additionalProperties`, "additionalProperties and properties are mutual exclusive")]
      : []),
    ...(place === "root" && additionalProperties !== undefined
      ? [forbidden(`${path}.additionalProperties`, "must not be used at the root")]
      : []),
    ...(embedded && !open && properties === undefined
      ? [
          required(
            `${path}.properties`,
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
          ),
        ]
      : []),
    ...(place === "root" || embedded ? metadataProblems(properties, path) : []),
  ];
}

/** A schema may only restrict the name in the metadata, which is the same for all kinds. */
function metadataProblems(properties: unknown, path: string): FieldError[] {
  const metadata = isJsonObject(properties) ? properties["metadata"] : undefined;
  if (!isJsonObject(metadata)) return [];
  const { type, properties: fields, description: _description, ...others } = metadata;
  const field = `${path}.properties[metadata]`;
  const names = Object.keys(isJsonObject(fields) ? fields : {});
  const extra = Object.keys(others).length > 0 || names.some((name) => name !== "name" && name !== "generateName");
  return [
    ...(type === "object" ? [] : [invalidValue(`${field}.type`, type ?? "", "must be object")]),
    ...(extra
      ? [
          forbidden(
            field,
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
          ),
        ]
      : []),
  ];
}

function listProblems(schema: JsonObject, path: string): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  const mapType = schema["x-kubernetes-map-type"];
  const keys = schema["x-kubernetes-list-map-keys"];
  const { type, items } = schema;
  const known = ["atomic", "set", "map"];
  return [
    ...(listType !== undefined && type !== "array"
      ? [invalidValue(`${path}.type`, type ?? "", "must be array if x-kubernetes-list-type is specified")]
      : []),
    ...(listType !== undefined && !known.some((each) => each === listType)
      ? [notSupported(`${path}.x-kubernetes-list-type`, listType, known)]
      : []),
    ...(mapType !== undefined && type !== "object"
      ? [invalidValue(`${path}.type`, type ?? "", "must be object if x-kubernetes-map-type is specified")]
      : []),
    ...(mapType !== undefined && mapType !== "atomic" && mapType !== "granular"
      ? [notSupported(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"])]
      : []),
    ...(listType === "map" ? mapKeyProblems(keys, items, path) : []),
    ...(listType !== "map" && Array.isArray(keys) && keys.length > 0
      ? [required(`${path}.x-kubernetes-list-type`, "must be map if x-kubernetes-list-map-keys is non-empty")]
      : []),
  ];
}

function mapKeyProblems(keys: unknown, items: unknown, path: string): FieldError[] {
  const field = `${path}.x-kubernetes-list-map-keys`;
  if (!Array.isArray(keys) || keys.length === 0) {
    return [required(field, "must not be empty if x-kubernetes-list-type is map")];
  }
  if (!isJsonObject(items)) return [required(`${path}.items`, "must have a schema if x-kubernetes-list-type is map")];
  if (items["type"] !== "object") {
    const why = "must be object if parent array's x-kubernetes-list-type is map";
    return [invalidValue(`${path}.items.type`, items["type"] ?? "", why)];
  }
  const properties = isJsonObject(items["properties"]) ? items["properties"] : {};
  if (keys.some((key) => typeof key !== "string" || !Object.hasOwn(properties, key))) {
    return [invalidValue(field, keys, "entries must all be names of item properties")];
  }
  const needed = Array.isArray(items["required"]) ? items["required"] : [];
  const why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
  return keys.flatMap((key: string) => {
    const property = properties[key];
    const given = needed.includes(key) || (isJsonObject(property) && property["default"] !== undefined);
    return given ? [] : [required(`${path}.items.properties[${key}].default`, why)];
  });
}

function patternProblems(pattern: unknown, field: string): FieldError[] {
  if (typeof pattern !== "string") return [];
  const unusable = validate({ type: "string", pattern }, "").some(({ message }) =>
    message.includes("pattern is invalid"),
  );
  return unusable ? [invalidValue(field, pattern, "must be a valid regular expression, but isn't")] : [];
}

const empty = ["type", "title", "description", "x-kubernetes-list-map-keys", "x-kubernetes-validations"];
const undefinedOnes = ["additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type"];
const falseOnes = [
  "nullable",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
];

/** Inside allOf, anyOf, oneOf and not, a schema may only restrict values. */
function junctorProblems(schema: JsonObject, path: string, depth: number): FieldError[] {
  const inside = ["allOf", "anyOf", "oneOf"].flatMap((key) => {
    const parts = schema[key];
    return Array.isArray(parts) ? parts.map((part: unknown, at) => ({ part, at: `${path}.${key}[${at}]` })) : [];
  });
  const all = schema["not"] === undefined ? inside : [...inside, { part: schema["not"], at: `${path}.not` }];
  const intOrString = schema["x-kubernetes-int-or-string"] === true;
  return all.flatMap(({ part, at }) =>
    isJsonObject(part) ? valueProblems(part, at, { depth: depth + 1, intOrString }) : [],
  );
}

function valueProblems(
  schema: JsonObject,
  path: string,
  { depth, intOrString }: { depth: number; intOrString: boolean },
): FieldError[] {
  if (depth > maxDepth) return [forbidden(path, `must not be nested deeper than ${maxDepth} levels`)];
  const say = (keys: readonly string[], what: string): FieldError[] =>
    keys
      .filter((key) => schema[key] !== undefined && schema[key] !== false && schema[key] !== "")
      // Only the two alternatives of int-or-string may repeat the type.
      .filter((key) => !(key === "type" && intOrString && (schema[key] === "integer" || schema[key] === "string")))
      .map((key) => forbidden(`${path}.${key}`, `must be ${what} to be structural`));
  const { properties, items } = schema;
  const nested = [
    ...Object.entries(isJsonObject(properties) ? properties : {}).map(
      ([name, part]) => [`properties[${name}]`, part] as const,
    ),
    ["items", items] as const,
  ];
  return [
    ...say(empty, "empty"),
    ...say(undefinedOnes, "undefined"),
    ...say(falseOnes, "false"),
    ...junctorProblems(schema, path, depth),
    ...nested.flatMap(([name, part]) =>
      isJsonObject(part) ? valueProblems(part, `${path}.${name}`, { depth: depth + 1, intOrString: false }) : [],
    ),
  ];
}

function childProblems(schema: JsonObject, path: string, depth: number): FieldError[] {
  const { properties, items, additionalProperties } = schema;
  const fields = Object.entries(isJsonObject(properties) ? properties : {});
  return [
    ...fields.flatMap(([name, part]) => {
      const field = `${path}.properties[${name}]`;
      return isJsonObject(part)
        ? partProblems(part, field, "field", depth + 1)
        : [invalidValue(field, part, "must be a schema")];
    }),
    ...(isJsonObject(items) ? partProblems(items, `${path}.items`, "item", depth + 1) : []),
    ...(isJsonObject(additionalProperties)
      ? partProblems(additionalProperties, `${path}.additionalProperties`, "value", depth + 1)
      : []),
  ];
}

/** A default must be valid by its own schema. */
function defaultProblems(schema: StructuralSchema, path: string): FieldError[] {
  const own = schema.default === undefined ? [] : refusals(schema, schema.default, `${path}.default`);
  const { properties = {}, items, additionalProperties } = schema;
  return [
    ...own,
    ...Object.entries(properties).flatMap(([name, part]) => defaultProblems(part, `${path}.properties[${name}]`)),
    ...(items === undefined ? [] : defaultProblems(items, `${path}.items`)),
    ...(typeof additionalProperties === "object"
      ? defaultProblems(additionalProperties, `${path}.additionalProperties`)
      : []),
  ];
}

function refusals(schema: StructuralSchema, value: Json, path: string): FieldError[] {
  return validate(schema, applyDefaults(schema, value)).map((problem) => ({
    ...problem,
    field: problem.field === "<nil>" ? path : `${path}.${problem.field}`,
  }));
}
