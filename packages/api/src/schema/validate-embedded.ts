import { type FieldError, required } from "./field-error.ts";
import { childPath, indexPath, keyPath } from "./field-path.ts";
import { isObject, ownValue } from "./json-value.ts";
import { somewhere } from "./schema-parts.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

const hasEmbedded = somewhere((schema) => schema["x-kubernetes-embedded-resource"] === true);

/** An embedded resource must have `apiVersion` and `kind`. */
export function validateEmbedded(schema: StructuralSchema, value: Json, path = ""): FieldError[] {
  if (!hasEmbedded(schema)) return [];
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.flatMap((item, index) => validateEmbedded(items, item, indexPath(path, index))) : [];
  }
  if (!isObject(value)) return [];
  const own = schema["x-kubernetes-embedded-resource"] ? ["apiVersion", "kind"] : [];
  const errors = own
    .filter((name) => !ownValue(value, name))
    .map((name) => required(childPath(path, name), "must not be empty"));
  const nested = Object.entries(value).flatMap(([key, child]) => {
    const property = ownValue(schema.properties, key);
    if (property !== undefined) return validateEmbedded(property, child, childPath(path, key));
    const additional = schema.additionalProperties;
    return typeof additional === "object" ? validateEmbedded(additional, child, keyPath(path, key)) : [];
  });
  return [...errors, ...nested];
}
