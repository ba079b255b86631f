import { isJsonObject, type JsonObject } from "../api-object.ts";
import type { Interner } from "../interner.ts";
import { equalJson, maxJsonDepth } from "../json.ts";
import { type FieldType, formOf, type ListType, type MapType, type ScalarType } from "./field-type.ts";
import type { FieldsV1 } from "./fields-v1.ts";
import { elementOf } from "./list-item.ts";
import { compareElements, fieldKey, type PathElement } from "./path-element.ts";

/** The result for objects that this walk does not handle. `compare` handles all. */
export const unusual: unique symbol = Symbol("unusual");

type Unusual = typeof unusual;

/** Members of the object that nobody owns: a whole member (`true`) or members of it. */
export interface Skip {
  readonly [name: string]: true | Skip;
}

/** The value that an object has before anybody writes to it. */
type Before = JsonObject | null | undefined;

export interface Creation {
  readonly type: FieldType;
  readonly before: JsonObject;
  readonly skip: Skip;
  readonly interner: Interner;
}

/**
 * The fields that the creator of an object owns, in their stored form. One walk over the object computes what comparing it
 * with `before` and encoding the difference computes in several. Returns `unusual` for objects with duplicate list items or
 * with values that do not match their type.
 */
export function createdFields(object: JsonObject, { type, before, skip, interner }: Creation): FieldsV1 | Unusual {
  if (type.map === undefined || type.map.atomic) return unusual;
  const owned: Owned = {};
  return addMembers(owned, object, type.map, { before, skip, depth: 1, interner }) ? owned : unusual;
}

type Owned = Record<string, FieldsV1>;

interface Place {
  readonly before: Before;
  readonly skip: Skip | undefined;
  readonly depth: number;
  /** For members of the whole object, which may be interned. */
  readonly interner?: Interner;
}

/** Adds the owned fields inside of an object, without the object itself. Returns false if the object is unusual. */
function addMembers(owned: Owned, object: JsonObject, map: MapType, place: Place): boolean {
  const { before, skip, depth, interner } = place;
  if (depth > maxJsonDepth) return false;
  for (const name of sortedNames(object)) {
    const id = fieldId(name);
    const type = map.member(name);
    if (type === undefined || id === undefined) return false;
    const skipped = skip !== undefined && Object.hasOwn(skip, name) ? skip[name] : undefined;
    if (skipped === true) {
      if (fits(object[name], type, depth + 1)) continue;
      return false;
    }
    const there = before && Object.hasOwn(before, name) ? (before[name] as Before) : undefined;
    const given = object[name];
    const inner =
      interner !== undefined && skipped === undefined && isJsonObject(given) && interner.isInterned(given)
        ? ownedPart(given, type, there, interner)
        : ownedOf(given, type, there, skipped, depth + 1);
    if (inner === unusual) return false;
    if (inner !== undefined) owned[id] = inner;
  }
  return true;
}

/** The owned fields of an interned part, computed once. */
function ownedPart(
  part: JsonObject,
  type: FieldType,
  before: Before,
  interner: Interner,
): FieldsV1 | undefined | Unusual {
  const known = interner.memo(newOwnedParts, part);
  const found = known.get(type);
  if (found !== undefined && sameBefore(found.before, before)) return found.owned;
  const owned = ownedOf(part, type, before, undefined, 2);
  known.set(type, { before, owned });
  return owned;
}

interface OwnedPart {
  readonly before: Before;
  readonly owned: FieldsV1 | undefined | Unusual;
}

const newOwnedParts = (): Map<FieldType, OwnedPart> => new Map();

const sameBefore = (one: Before, other: Before): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/** An insertion sort: faster than `sort` for the few names of most objects, which are often sorted already. */
function sortedNames(object: JsonObject): string[] {
  const names = Object.keys(object);
  if (names.length > 32) return names.sort();
  for (let at = 1; at < names.length; at += 1) {
    const name = names[at] as string;
    let to = at;
    for (; to > 0 && (names[to - 1] as string) > name; to -= 1) names[to] = names[to - 1] as string;
    names[to] = name;
  }
  return names;
}

/** The key of a member in `FieldsV1`; `undefined` for names that JavaScript sorts differently than Kubernetes. */
function fieldId(name: string): string | undefined {
  return plainOrder.test(name) ? fieldKey(name) : undefined;
}

const plainOrder = /^[\0-\ud7ff]*$/;

const whole: FieldsV1 = {};

/** The owned fields of a value; `undefined` if there are none. */
function ownedOf(
  given: unknown,
  type: FieldType,
  before: Before,
  skip: Skip | undefined,
  depth: number,
): FieldsV1 | undefined | Unusual {
  if (given === null && before === undefined) return whole;
  if (given === null || given === undefined) return unusual;
  const form = formOf(type, given);
  if (form.is === "scalar")
    return (before ?? undefined) === undefined && isScalar(form.scalar, given) ? whole : unusual;
  if (form.is === "list") return ownedItems(given, form.list, before, depth);
  if (!isJsonObject(given)) return unusual;
  if (form.map.atomic) {
    if (!fits(given, type, depth)) return unusual;
    return before !== undefined && equalJson(given, before) ? undefined : whole;
  }
  const owned: Owned = {};
  // Whether an empty value in place of an empty one is a change depends on which empty values they are.
  if (isEmpty(given)) return before === undefined ? whole : isEmpty(before ?? [0]) ? undefined : unusual;
  // The creator owns the value itself, unless it exists before anybody writes to the object.
  if (before === undefined) owned["."] = whole;
  if (!addMembers(owned, given, form.map, { before, skip, depth })) return unusual;
  return isEmpty(owned) ? undefined : owned;
}

function ownedItems(given: unknown, type: ListType, before: Before, depth: number): FieldsV1 | Unusual {
  if (!Array.isArray(given)) return unusual;
  const items = given as readonly unknown[];
  if (type.atomic || items.length === 0) {
    if (before !== undefined) return unusual;
    return items.every((item) => fits(item, type.item, depth + 1)) ? whole : unusual;
  }
  const found: { readonly element: PathElement; readonly inner: FieldsV1 }[] = [];
  for (const item of items) {
    const named = elementOf(type, item);
    if ("problem" in named) return unusual;
    const { element } = named;
    if (found.some((other) => other.element.id === element.id)) return unusual;
    const inner = ownedOf(item, type.item, undefined, undefined, depth + 1);
    if (inner === unusual || inner === undefined) return unusual;
    found.push({ element, inner });
    if (found.length > maxItems) return unusual;
  }
  if (found.length > 1) found.sort((left, right) => compareElements(left.element, right.element));
  const owned: Owned = before === undefined ? { ".": whole } : {};
  for (const { element, inner } of found) owned[element.id] = inner;
  return owned;
}

/** Items are compared with all items before them, so longer lists are left to `compare`. */
const maxItems = 64;

/** Whether a value that is owned as a whole, and everything inside it, matches its type. */
function fits(given: unknown, type: FieldType, depth: number): boolean {
  if (given === null) return true;
  if (given === undefined || depth > maxJsonDepth) return false;
  const form = formOf(type, given);
  if (form.is === "scalar") return isScalar(form.scalar, given);
  if (form.is === "list") {
    const { atomic, item } = form.list;
    return (
      Array.isArray(given) &&
      given.every((each) => (atomic || "element" in elementOf(form.list, each)) && fits(each, item, depth + 1))
    );
  }
  if (!isJsonObject(given)) return false;
  return Object.keys(given).every((name) => {
    const member = form.map.member(name);
    return member !== undefined && fits(given[name], member, depth + 1);
  });
}

function isScalar(type: ScalarType, given: unknown): boolean {
  if (type === "untyped") return typeof given !== "object";
  return typeof given === (type === "numeric" ? "number" : type);
}

function isEmpty(object: object): boolean {
  for (const _name in object) return false;
  return true;
}
