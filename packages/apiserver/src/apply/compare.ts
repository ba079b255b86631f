import { isJsonObject, type JsonObject } from "../api-object.ts";
import { equalJson } from "../json.ts";
import { type FieldSet, FieldSetBuilder, without } from "./field-set.ts";
import { type FieldType, type Form, formOf, type ListType, type MapType } from "./field-type.ts";
import { type ItemGroup, itemsByElement } from "./list-item.ts";
import { field, pathOf, type Trail } from "./path-element.ts";

/** The fields that changed between two objects. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

export function compare(before: unknown, after: unknown, type: FieldType): Comparison {
  const found: Found = {
    added: new FieldSetBuilder(),
    modified: new FieldSetBuilder(),
    removed: new FieldSetBuilder(),
  };
  compareAt(found, { before, after }, type, undefined);
  return { added: found.added.build(), modified: found.modified.build(), removed: found.removed.build() };
}

/** The comparison without some fields and everything inside them. */
export function ignoring({ added, modified, removed }: Comparison, fields: FieldSet): Comparison {
  return { added: without(added, fields), modified: without(modified, fields), removed: without(removed, fields) };
}

type Found = Readonly<Record<keyof Comparison, FieldSetBuilder>>;

/** A missing value is `undefined`. At most one of the two is missing. */
interface Pair<T = unknown> {
  readonly before: T;
  readonly after: T;
}

function compareAt(found: Found, pair: Pair, type: FieldType, trail: Trail | undefined): void {
  // Unchanged parts of an object are the same JavaScript object as in the live one.
  if (pair.before === pair.after) return;
  let divided = false;
  for (const form of formsOf(pair, type)) divided = compareAs(found, pair, form, trail);
  if (divided) report(found, pair, trail);
}

/** Two forms if the value changed its form: the content of the old form is removed, that of the new form is added. */
function formsOf({ before, after }: Pair, type: FieldType): Form[] {
  if (after === undefined) return [formOf(type, before)];
  const form = formOf(type, after);
  if (before === undefined) return [form];
  const old = formOf(type, before);
  return old.is === form.is ? [form] : [old, form];
}

/** Returns whether the value was compared member by member, rather than as a whole. */
function compareAs(found: Found, pair: Pair, form: Form, trail: Trail | undefined): boolean {
  if (form.is === "map" && !form.map.atomic) {
    const maps = { before: objectOr(pair.before), after: objectOr(pair.after) };
    if (hasMembers(maps.before) || hasMembers(maps.after)) {
      compareMembers(found, maps, form.map, trail);
      return true;
    }
  } else if (form.is === "list" && !form.list.atomic) {
    const lists = { before: listOr(pair.before), after: listOr(pair.after) };
    if (lists.before.length > 0 || lists.after.length > 0) {
      compareItems(found, lists, form.list, trail);
      return true;
    }
  }
  if (!report(found, pair, trail) && !equalJson(pair.before, pair.after)) found.modified.add(pathOf(trail));
  return false;
}

function report(found: Found, { before, after }: Pair, trail: Trail | undefined): boolean {
  if (before === undefined) found.added.add(pathOf(trail));
  else if (after === undefined) found.removed.add(pathOf(trail));
  return before === undefined || after === undefined;
}

const objectOr = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const listOr = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const hasMembers = (object: JsonObject): boolean => Object.keys(object).length > 0;

function compareMembers(
  found: Found,
  { before, after }: Pair<JsonObject>,
  map: MapType,
  trail: Trail | undefined,
): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const type = map.member(name);
    const pair = { before: ownValue(before, name), after: ownValue(after, name) };
    if (type !== undefined) compareAt(found, pair, type, { above: trail, element: field(name) });
  }
}

const ownValue = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

function compareItems(found: Found, lists: Pair<readonly unknown[]>, list: ListType, trail: Trail | undefined): void {
  const before = itemsByElement(list, lists.before);
  const after = itemsByElement(list, lists.after);
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    compareGroups(found, { before: before.get(id), after: after.get(id) }, list, trail);
  }
}

/** Duplicate items are compared as a whole. An item that becomes duplicate, or is no longer, counts as another item. */
function compareGroups(
  found: Found,
  groups: Pair<ItemGroup | undefined>,
  list: ListType,
  trail: Trail | undefined,
): void {
  const [old = [], now = []] = [groups.before?.items, groups.after?.items];
  const element = (groups.before ?? groups.after)?.element;
  if (element === undefined) return;
  const inner: Trail = { above: trail, element };
  if (old.length <= 1 && now.length <= 1) {
    compareAt(found, { before: old[0], after: now[0] }, list.item, inner);
  } else if (old.length > 1 && now.length > 1) {
    if (!equalJson(old, now)) found.modified.add(pathOf(inner));
  } else if (old.length > 1) {
    if (now.length === 1) compareAt(found, { before: undefined, after: now[0] }, list.item, inner);
    found.removed.add(pathOf(inner));
  } else {
    if (old.length === 1) compareAt(found, { before: old[0], after: undefined }, list.item, inner);
    found.added.add(pathOf(inner));
  }
}
