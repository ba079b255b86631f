import { isJsonObject, type JsonObject } from "../api-object.ts";
import { maxJsonDepth } from "../json.ts";
import { type FieldType, formOf, type ListType, type MapType, type ScalarType } from "./field-type.ts";
import type { FieldsV1 } from "./fields-v1.ts";
import { elementOf } from "./list-item.ts";
import { compareElements, fieldId, type PathElement } from "./path-element.ts";

/** What an ordinary object never has; whoever meets it has to take the long way. */
export const unusual: unique symbol = Symbol("unusual");

type Unusual = typeof unusual;

/** Names outside of this range sort differently in JavaScript than in Kubernetes. */
const plainOrder = /^[\0-\ud7ff]*$/;

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
  return members(object, type.map, { before, skip, depth: 1 });
}

/** Members of the object that nobody owns: by name, all of one (`true`) or members of it. */
export interface Skip {
  readonly [name: string]: true | Skip;
}

interface Around {
  readonly before: JsonObject | null | undefined;
  readonly skip?: Skip | undefined;
  readonly depth: number;
}

/** What is owned inside of an object, without the object itself. */
function members(object: JsonObject, map: MapType, { before, skip, depth }: Around): FieldsV1 | Unusual {
  if (depth > maxJsonDepth) return unusual;
  const owned: Record<string, FieldsV1> = {};
  for (const name of Object.keys(object).sort()) {
    const type = map.member(name);
    if (type === undefined || !plainOrder.test(name)) return unusual;
    const skipped = skip !== undefined && Object.hasOwn(skip, name) ? skip[name] : undefined;
    if (skipped === true) {
      if (fits(object[name], type, depth + 1)) continue;
      return unusual;
    }
    const there = before !== undefined && before !== null && Object.hasOwn(before, name) ? before[name] : undefined;
    const inner = value(object[name], type, { before: there as Around["before"], skip: skipped, depth: depth + 1 });
    if (inner === unusual) return unusual;
    if (inner !== undefined) owned[fieldId(name)] = inner;
  }
  return owned;
}

const whole: FieldsV1 = {};

/** What is owned of a value; `undefined` for nothing. */
function value(given: unknown, type: FieldType, around: Around): FieldsV1 | undefined | Unusual {
  if (given === null && around.before === undefined) return whole;
  if (given === null || given === undefined) return unusual;
  const form = formOf(type, given);
  if (form.is === "scalar") return around.before === undefined && isScalar(form.scalar, given) ? whole : unusual;
  if (form.is === "list") return list(given, form.list, around);
  if (!isJsonObject(given)) return unusual;
  if (form.map.atomic) return around.before === undefined && fits(given, type, around.depth) ? whole : unusual;
  const inner = members(given, form.map, around);
  if (inner === unusual) return unusual;
  return joined(inner, around, isEmpty(given));
}

/** With the value itself, unless it is there without its creator. */
function joined(inner: FieldsV1, { before }: Around, empty: boolean): FieldsV1 | undefined | Unusual {
  if (before === undefined) return isEmpty(inner) ? whole : { ".": whole, ...inner };
  // Nothing in place of nothing: whether that is a change depends on the kind of nothing.
  if (empty && (before === null || !isEmpty(before))) return unusual;
  return isEmpty(inner) ? undefined : inner;
}

function list(given: unknown, type: ListType, around: Around): FieldsV1 | undefined | Unusual {
  if (!Array.isArray(given)) return unusual;
  const items = given as readonly unknown[];
  const { before, depth } = around;
  if (type.atomic || items.length === 0) {
    if (before !== undefined) return unusual;
    return items.every((item) => fits(item, type.item, depth + 1)) ? whole : unusual;
  }
  const found: { readonly element: PathElement; readonly inner: FieldsV1 }[] = [];
  const seen = new Set<string>();
  for (const item of items) {
    const named = elementOf(type, item);
    if ("problem" in named || seen.has(named.element.id)) return unusual;
    seen.add(named.element.id);
    const inner = value(item, type.item, { before: undefined, depth: depth + 1 });
    if (inner === unusual || inner === undefined) return unusual;
    found.push({ element: named.element, inner });
  }
  if (found.length > 1) found.sort((left, right) => compareElements(left.element, right.element));
  const owned: Record<string, FieldsV1> = before === undefined ? { ".": whole } : {};
  for (const { element, inner } of found) owned[element.id] = inner;
  return owned;
}

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
