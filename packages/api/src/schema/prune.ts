import { childPath, indexPath } from "./field-path.ts";
import { isObject, type JsonObject, ownValue, setOwn } from "./json-value.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

/** The fields of every resource. They are never pruned, because they are not part of the schema. */
const metaFields = new Set(["apiVersion", "kind", "metadata"]);

/**
 * Removes the fields that are not in the schema, as the API server does before it stores an object. The root must be a
 * resource. The input is not changed; the result shares the parts without unknown fields.
 */
export function prune<T extends Json>(schema: StructuralSchema, value: T): T {
  return pruneValue(resourceRoot(schema), value, "", ignore) as T;
}

/** The sorted paths of the fields that `prune` would remove, for strict field validation. */
export function unknownFields(schema: StructuralSchema, value: Json): string[] {
  const unknown: string[] = [];
  pruneValue(resourceRoot(schema), value, "", (path) => unknown.push(path));
  return unknown.sort();
}

type Report = (path: string) => void;

function ignore(): void {}

function resourceRoot(schema: StructuralSchema): StructuralSchema {
  return schema["x-kubernetes-embedded-resource"] ? schema : { ...schema, "x-kubernetes-embedded-resource": true };
}

function pruneValue(schema: StructuralSchema | undefined, value: Json, path: string, report: Report): Json {
  if (Array.isArray(value)) return pruneList(schema, value, path, report);
  return isObject(value) ? pruneObject(schema, value, path, report) : value;
}

function pruneList(schema: StructuralSchema | undefined, list: Json[], path: string, report: Report): Json[] {
  const preserved = schema?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (preserved && schema.items === undefined) return list;
  // Below a value that preserves unknown fields, list items preserve them too, even if their schema does not say so.
  const items = preserved ? { ...schema.items, "x-kubernetes-preserve-unknown-fields": true } : schema?.items;
  const pruned = list.map((item, index) => pruneValue(items, item, indexPath(path, index), report));
  return pruned.every((item, index) => item === list[index]) ? list : pruned;
}

function pruneObject(
  schema: StructuralSchema | undefined,
  object: JsonObject,
  path: string,
  report: Report,
): JsonObject {
  let pruned: JsonObject | undefined;
  for (const [key, child] of Object.entries(object)) {
    if (schema?.["x-kubernetes-embedded-resource"] && metaFields.has(key)) continue;
    const field = fieldSchema(schema, key);
    if (field === "kept") continue;
    const kept = field === "unknown" ? undefined : pruneValue(field.schema, child, childPath(path, key), report);
    if (kept === child) continue;
    pruned ??= { ...object };
    if (kept !== undefined) {
      setOwn(pruned, key, kept);
      continue;
    }
    delete pruned[key];
    report(childPath(path, key));
  }
  return pruned ?? object;
}

/** `kept` as it is, `unknown`, or the schema of the value; undefined for values of `additionalProperties: true`. */
function fieldSchema(
  schema: StructuralSchema | undefined,
  key: string,
): "kept" | "unknown" | { readonly schema: StructuralSchema | undefined } {
  const property = ownValue(schema?.properties, key);
  if (property !== undefined) return { schema: property };
  const additional = schema?.additionalProperties;
  if (additional !== undefined) return { schema: typeof additional === "object" ? additional : undefined };
  return schema?.["x-kubernetes-preserve-unknown-fields"] ? "kept" : "unknown";
}
