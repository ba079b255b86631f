import { isJsonObject } from "../api-object.ts";
import { type FieldSet, inside, isEmptySet, isMember } from "./field-set.ts";
import { deducedType, type FieldType, formOf, type ListType, type MapType } from "./field-type.ts";
import { elementOf } from "./list-item.ts";
import { field, type PathElement } from "./path-element.ts";

/**
 * The value without some of its fields. An object or list that becomes empty is replaced by null, as in kube-apiserver, unless
 * it is removed itself. Defaulting then keeps or drops the null, depending on the schema.
 */
export function removeFields(value: unknown, fields: FieldSet, type: FieldType): unknown {
  const form = formOf(type, value);
  if (form.is === "map" && isJsonObject(value)) return removeMembers(value, fields, form.map);
  if (form.is === "list" && Array.isArray(value)) return removeItems(value, fields, form.list);
  return value;
}

function removeMembers(value: { readonly [name: string]: unknown }, fields: FieldSet, map: MapType): unknown {
  if (map.atomic) return null;
  const kept = Object.entries(value).flatMap(([name, member]) =>
    remaining(fields, field(name), member, map.member(name) ?? deducedType).map((rest) => [name, rest] as const),
  );
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function removeItems(items: readonly unknown[], fields: FieldSet, list: ListType): unknown {
  if (list.atomic) return null;
  const kept = items.flatMap((item) => {
    const named = elementOf(list, item);
    return "problem" in named ? [item] : remaining(fields, named.element, item, list.item);
  });
  return kept.length === 0 ? null : kept;
}

/** The rest of one member or item: an empty list if it is removed, otherwise one value. */
function remaining(fields: FieldSet, element: PathElement, value: unknown, type: FieldType): unknown[] {
  if (isMember(fields, element)) return [];
  const within = inside(fields, element);
  return [isEmptySet(within) ? value : removeFields(value, within, type)];
}
