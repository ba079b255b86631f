import { isJsonObject, type JsonObject } from "../api-object.ts";
import { equalJson, maxJsonDepth } from "../json.ts";
import { isShared, onceForShared } from "../shared-values.ts";
import { type FieldType, formOf, type ListType, type MapType, type ScalarType } from "./field-type.ts";
import type { FieldsV1 } from "./fields-v1.ts";
import { elementOf } from "./list-item.ts";
import { compareElements, field, type PathElement } from "./path-element.ts";

/** What an ordinary object never has; whoever meets it has to take the long way. */
export const unusual: unique symbol = Symbol("unusual");

type Unusual = typeof unusual;

/** Members of the object that nobody owns: by name, all of one (`true`) or members of it. */
export interface Skip {
  readonly [name: string]: true | Skip;
}

/** What is there without the creator. */
type Before = JsonObject | null | undefined;

/**
 * The fields that the creator of an object owns, as they are stored: what comparing the object with the empty one and
 * writing down the difference would give, in one walk. `before` is what is there without the creator. `unusual` when the
 * object has items that cannot be told apart or values that do not fit its type: the comparison knows those.
 */
export function createdFields(
  object: JsonObject,
  { type, before, skip }: { readonly type: FieldType; readonly before: JsonObject; readonly skip: Skip },
): FieldsV1 | Unusual {
  if (type.map === undefined || type.map.atomic) return unusual;
  const owned: Owned = {};
  return addMembers(owned, object, type.map, before, skip, 1) ? owned : unusual;
}

type Owned = Record<string, FieldsV1>;

/** Adds what is owned inside of an object, without the object itself; false when it is unusual. */
function addMembers(
  owned: Owned,
  object: JsonObject,
  map: MapType,
  before: Before,
  skip: Skip | undefined,
  depth: number,
): boolean {
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
      depth === 1 && skipped === undefined && isJsonObject(given) && isShared(given)
        ? ownedPart(given, type, there)
        : ownedOf(given, type, there, skipped, depth + 1);
    if (inner === unusual) return false;
    if (inner !== undefined) owned[id] = inner;
  }
  return true;
}

/** Of a part of the object that many share, which is the same for all. */
function ownedPart(part: JsonObject, type: FieldType, before: Before): FieldsV1 | undefined | Unusual {
  const known = ownedParts(part);
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

const ownedParts = onceForShared(() => new Map<FieldType, OwnedPart>());

const sameBefore = (one: Before, other: Before): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/** Few as they are, and often in order already, names are sorted faster by hand. */
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

/** As `FieldsV1` names a member; `undefined` for names that JavaScript sorts differently than Kubernetes. */
function fieldId(name: string): string | undefined {
  const known = ids.get(name);
  if (known !== undefined) return known;
  return plainOrder.test(name) ? remember(name) : undefined;
}

const plainOrder = /^[\0-\ud7ff]*$/;

/** Made once for the names of schemas, which come back in every object: joining and hashing them anew costs more. */
const ids = new Map<string, string>();
const maxIds = 4096;
const maxIdLength = 64;

function remember(name: string): string {
  const { id } = field(name);
  if (ids.size < maxIds && id.length <= maxIdLength) ids.set(name, id);
  return id;
}

const whole: FieldsV1 = {};

/** What is owned of a value; `undefined` for nothing. */
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
  // Nothing in place of nothing: whether that is a change depends on the kind of nothing.
  if (isEmpty(given)) return before === undefined ? whole : isEmpty(before ?? [0]) ? undefined : unusual;
  // Its creator owns the value itself, unless that is there without it.
  if (before === undefined) owned["."] = whole;
  if (!addMembers(owned, given, form.map, before, skip, depth)) return unusual;
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

/** Each item is looked for among those before it: not for long lists. */
const maxItems = 64;

/** Whether a value that is owned as a whole has the type it should have, all the way down. */
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
