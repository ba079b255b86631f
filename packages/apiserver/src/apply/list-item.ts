import { isJsonObject } from "../api-object.ts";
import type { ListType } from "./field-type.ts";
import { itemWithEntries, itemWithValue, type PathElement } from "./path-element.ts";
import { compareEntries, type ValueEntry } from "./value-order.ts";

export type NamedItem = { readonly element: PathElement } | { readonly problem: string };

/** Identifies an item of a list that is not atomic. */
export function elementOf(list: ListType, item: unknown): NamedItem {
  return list.keys.length > 0 ? keyedElement(list, item) : setElement(item);
}

function keyedElement(list: ListType, item: unknown): NamedItem {
  if (item === null) return { problem: "associative list with keys may not have a null element" };
  if (!isJsonObject(item)) return { problem: "associative list with keys may not have non-map elements" };
  const key: ValueEntry[] = [];
  for (const name of list.keys) {
    const value = Object.hasOwn(item, name) ? item[name] : list.keyDefault(name);
    if (value !== undefined) key.push([name, value]);
  }
  if (key.length === 0) {
    const names = list.keys.map((name) => JSON.stringify(name)).join(" ");
    return {
      problem: `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    };
  }
  return { element: itemWithEntries(key.length > 1 ? key.sort(compareEntries) : key) };
}

function setElement(item: unknown): NamedItem {
  if (Array.isArray(item)) return { problem: "not supported: associative list with lists as elements" };
  if (isJsonObject(item)) return { problem: "associative list without keys has an element that's a map type" };
  if (item === null) return { problem: "associative list without keys has an element that's an explicit null" };
  return { element: itemWithValue(item) };
}

/** The items of a list by their elements, in the order of their first appearance. Omits items without an identity. */
export function itemsByElement(list: ListType, items: readonly unknown[]): Map<string, ItemGroup> {
  const groups = new Map<string, ItemGroup>();
  for (const item of items) {
    const named = elementOf(list, item);
    if ("problem" in named) continue;
    const group = groups.get(named.element.id);
    if (group === undefined) groups.set(named.element.id, { element: named.element, items: [item] });
    else group.items.push(item);
  }
  return groups;
}

export interface ItemGroup {
  readonly element: PathElement;
  /** More than one if the list has duplicates. */
  readonly items: unknown[];
}
