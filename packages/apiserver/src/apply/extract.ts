import { isJsonObject } from "../api-object.ts";
import { type FieldSet, FieldSetBuilder } from "./field-set.ts";
import { type FieldType, formOf, type ListType, type MapType } from "./field-type.ts";
import { itemsByElement } from "./list-item.ts";
import { type FieldPath, field } from "./path-element.ts";

/**
 * The fields that a configuration sets: every leaf, every item, and every member that the schema does not declare. An object
 * that the schema declares is owned through its members, and itself only while it is empty.
 */
export function fieldsOf(value: unknown, type: FieldType): FieldSet {
  const fields = new FieldSetBuilder();
  collect(fields, value, type, []);
  return fields.build();
}

function collect(fields: FieldSetBuilder, value: unknown, type: FieldType, path: FieldPath): void {
  const form = formOf(type, value);
  if (form.is === "scalar" || (form.is === "list" ? form.list : form.map).atomic) fields.add(path);
  else if (form.is === "list") collectItems(fields, value, form.list, path);
  else collectMembers(fields, value, form.map, path);
}

function collectMembers(fields: FieldSetBuilder, value: unknown, map: MapType, path: FieldPath): void {
  if (!isJsonObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const inner = [...path, field(name)];
    const type = map.member(name);
    if (type !== undefined) collect(fields, member, type, inner);
    if (holdsNothing(member) || !map.declares(name)) fields.add(inner);
  }
}

const holdsNothing = (value: unknown): boolean =>
  value === null || (isJsonObject(value) && Object.keys(value).length === 0);

function collectItems(fields: FieldSetBuilder, value: unknown, list: ListType, path: FieldPath): void {
  if (!Array.isArray(value)) return;
  for (const { element, items } of itemsByElement(list, value).values()) {
    const inner = [...path, element];
    // Duplicate items cannot be distinguished, so nobody can own a part of one.
    if (items.length === 1) collect(fields, items[0], list.item, inner);
    fields.add(inner);
  }
}
