import { isJsonObject, type JsonObject } from "../api-object.ts";
import { type FieldNode, type FieldSet, isEmptySet } from "./field-set.ts";
import { encodeNode, type FieldsV1 } from "./fields-v1.ts";
import { compareElements, type PathElement, parseElement } from "./path-element.ts";

/**
 * Adds the members of one set to stored fields and removes those of another, in the stored form. Gives the result of decoding,
 * union, difference and encoding, but reads only the fields that the sets contain. Returns `undefined` if nothing is left, or
 * if the fields are not in the form that this server writes.
 */
export function editFields(
  stored: JsonObject,
  edit: { readonly add: FieldSet; readonly remove: FieldSet },
): FieldsV1 | undefined {
  const kept = isEmptySet(edit.remove) ? (stored as FieldsV1) : without(stored, edit.remove);
  const result = kept === undefined || isEmptySet(edit.add) ? kept : withAll(kept, edit.add);
  return result === undefined || Object.keys(result).length === 0 ? undefined : result;
}

const leaf: FieldsV1 = {};

/** A field with nothing inside is a member itself. */
const isMember = (fields: JsonObject): boolean => Object.hasOwn(fields, ".") || Object.keys(fields).length === 0;

function without(stored: JsonObject, set: FieldSet): FieldsV1 | undefined {
  const result: Record<string, FieldsV1> = {};
  for (const [id, inner] of Object.entries(stored)) {
    if (!isJsonObject(inner)) return undefined;
    const node = set.nodes.get(id);
    const left = node === undefined ? (inner as FieldsV1) : withoutNode(inner, node);
    if (left === undefined) return undefined;
    if (left !== nothing) result[id] = left;
  }
  return result;
}

const nothing: FieldsV1 = {};

function withoutNode(fields: JsonObject, { member, children }: FieldNode): FieldsV1 | undefined {
  const stays = isMember(fields) && !member;
  const { ".": _itself, ...parts } = fields;
  const inside = without(parts, children);
  if (inside === undefined) return undefined;
  if (Object.keys(inside).length === 0) return stays ? leaf : nothing;
  return stays ? { ".": leaf, ...inside } : inside;
}

function withAll(stored: JsonObject, set: FieldSet): FieldsV1 | undefined {
  const result: Record<string, FieldsV1> = { ...(stored as FieldsV1) };
  let grown = false;
  for (const [id, node] of set.nodes) {
    const inner = Object.hasOwn(stored, id) ? stored[id] : undefined;
    grown ||= inner === undefined;
    const next = inner === undefined ? encodeNode(node) : isJsonObject(inner) ? withNode(inner, node) : undefined;
    if (next === undefined) return undefined;
    result[id] = next;
  }
  return grown ? inOrder(result) : result;
}

function withNode(fields: JsonObject, { member, children }: FieldNode): FieldsV1 | undefined {
  const owned = member || isMember(fields);
  const { ".": _itself, ...parts } = fields;
  const inside = withAll(parts, children);
  if (inside === undefined || Object.keys(inside).length === 0) return inside;
  return owned ? { ".": leaf, ...inside } : inside;
}

/** Sorts keys by their elements. `undefined` if a key is not an element. */
function inOrder(fields: FieldsV1): FieldsV1 | undefined {
  const found: { readonly id: string; readonly element: PathElement }[] = [];
  for (const id of Object.keys(fields)) {
    const parsed = parseElement(id);
    if (!("element" in parsed)) return undefined;
    found.push({ id, element: parsed.element });
  }
  found.sort((left, right) => compareElements(left.element, right.element));
  return Object.fromEntries(found.map(({ id }) => [id, fields[id] as FieldsV1]));
}
