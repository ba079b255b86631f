import { duplicate, type FieldError, invalid } from "./field-error.ts";
import { childPath, indexPath, keyPath } from "./field-path.ts";
import { canonicalJson, isObject, type JsonObject, ownValue } from "./json-value.ts";
import { somewhere } from "./schema-parts.ts";
import type { Json, StructuralSchema } from "./structural-schema.ts";

const hasIdentities = somewhere(({ "x-kubernetes-list-type": type }) => type === "set" || type === "map");

/** Reports duplicate items of lists of type set, and items with the same keys in lists of type map, each once. */
export function validateLists(schema: StructuralSchema, value: Json, path = ""): FieldError[] {
  if (!hasIdentities(schema)) return [];
  if (Array.isArray(value)) {
    const items = schema.items;
    return [
      ...ownErrors(schema, value, path),
      ...(items ? value.flatMap((item, index) => validateLists(items, item, indexPath(path, index))) : []),
    ];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const property = ownValue(schema.properties, key);
    if (property !== undefined) return validateLists(property, child, childPath(path, key));
    const additional = schema.additionalProperties;
    return typeof additional === "object" ? validateLists(additional, child, keyPath(path, key)) : [];
  });
}

/** Whether a list itself, without the lists inside its items, repeats items of a set or keys of a map list. */
export function hasDuplicates(schema: StructuralSchema, list: readonly Json[]): boolean {
  return ownErrors(schema, list, "").length > 0;
}

function ownErrors(schema: StructuralSchema, list: readonly Json[], path: string): FieldError[] {
  const type = schema["x-kubernetes-list-type"];
  if (type === "set") return duplicates(list, path);
  if (type !== "map") return [];
  const stranger = list.findIndex((item) => item !== null && !isObject(item));
  if (stranger >= 0) {
    const detail = "must be an object for an array of list-type map";
    return [invalid(indexPath(path, stranger), list[stranger] ?? null, detail)];
  }
  if (list.length < 2) return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  return duplicates(
    list.map((item) => keysOf(keys, isObject(item) ? item : {})),
    path,
  );
}

function keysOf(keys: readonly string[], item: JsonObject): JsonObject {
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(item, key) ? [[key, item[key] ?? null]] : [])));
}

function duplicates(values: readonly Json[], path: string): FieldError[] {
  if (values.length < 2) return [];
  const seen = new Map<string, number>();
  return values.flatMap((value, index) => {
    const text = canonicalJson(value);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    return times === 2 ? [duplicate(indexPath(path, index), value)] : [];
  });
}
