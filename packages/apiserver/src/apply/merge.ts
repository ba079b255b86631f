import { isJsonObject, type JsonObject } from "../api-object.ts";
import { deducedType, type FieldType, formOf, type ListType, type MapType } from "./field-type.ts";
import { elementOf } from "./list-item.ts";

/**
 * Merges a configuration into the live value. Removes nothing; where both have a leaf, the configuration's is used. Changes
 * neither argument; parts that the configuration does not set are shared with the result.
 */
export function merge(live: unknown, config: unknown, type: FieldType): unknown {
  if (config === undefined) return live;
  if (live === undefined) return config;
  const form = formOf(type, config);
  if (form.is === "map" && !form.map.atomic) return mergeMembers(live, config, form.map);
  if (form.is === "list" && !form.list.atomic) return mergeItems(live, config, form.list);
  return config;
}

function mergeMembers(live: unknown, config: unknown, map: MapType): unknown {
  const old: JsonObject = isJsonObject(live) ? live : {};
  const given: JsonObject = isJsonObject(config) ? config : {};
  const names = new Set([...Object.keys(old), ...Object.keys(given)]);
  // Both are empty: the configuration decides between null and {}.
  if (names.size === 0) return config;
  return Object.fromEntries(
    [...names].map((name) => {
      const mine = Object.hasOwn(given, name) ? given[name] : undefined;
      const theirs = Object.hasOwn(old, name) ? old[name] : undefined;
      return [name, merge(theirs, mine, map.member(name) ?? deducedType)];
    }),
  );
}

function mergeItems(live: unknown, config: unknown, list: ListType): unknown {
  const old: readonly unknown[] = Array.isArray(live) ? live : [];
  const given: readonly unknown[] = Array.isArray(config) ? config : [];
  if (old.length === 0 && given.length === 0) return config;
  return new ItemMerge(list, old, given).run();
}

interface Item {
  readonly id: string;
  readonly value: unknown;
}

function namedItems(list: ListType, values: readonly unknown[]): Item[] {
  return values.flatMap((value) => {
    const named = elementOf(list, value);
    return "problem" in named ? [] : [{ id: named.element.id, value }];
  });
}

/**
 * Merges two lists. The result has the items of the configuration in their order; items that only the live list has keep
 * their place between the items that both have.
 */
class ItemMerge {
  readonly #list: ListType;
  readonly #live: readonly Item[];
  readonly #given: readonly Item[];
  /** The live value of each item; null for duplicate items, of which none is to be preferred. */
  readonly #liveValues = new Map<string, unknown>();
  readonly #givenValues: ReadonlyMap<string, unknown>;
  /** The items that both lists have and that are not merged yet, in the order of the configuration. */
  readonly #shared: string[];
  readonly #done = new Set<string>();
  readonly #result: unknown[] = [];

  constructor(list: ListType, live: readonly unknown[], given: readonly unknown[]) {
    this.#list = list;
    this.#live = namedItems(list, live);
    this.#given = namedItems(list, given);
    for (const { id, value } of this.#live) this.#liveValues.set(id, this.#liveValues.has(id) ? null : value);
    this.#givenValues = new Map(this.#given.map(({ id, value }) => [id, value]));
    this.#shared = this.#given.map(({ id }) => id).filter((id) => this.#liveValues.has(id));
  }

  run(): unknown[] {
    let at = 0;
    for (const { id } of this.#given) {
      at = this.#skipTo(id, at);
      this.#take(id);
    }
    this.#skipTo(undefined, at);
    return this.#result;
  }

  /** Adds live-only items up to the place of a configured item. Returns the new position in the live list. */
  #skipTo(given: string | undefined, from: number): number {
    let at = from;
    for (; at < this.#live.length; at += 1) {
      const { id, value } = this.#live[at] as Item;
      if (id === given) return at + 1;
      if (!this.#givenValues.has(id)) this.#result.push(value);
      else if (this.#done.has(id)) {
        if (given !== undefined && this.#shared.length === 0) return at + 1;
      } else if (this.#shared[0] === id) return at;
    }
    return at;
  }

  #take(id: string): void {
    this.#result.push(merge(this.#liveValues.get(id), this.#givenValues.get(id), this.#list.item));
    this.#done.add(id);
    if (this.#shared[0] === id) this.#shared.shift();
  }
}
