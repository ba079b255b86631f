/**
 * Search in a list of objects. Words match names, namespaces and further words of the object; `key=value` matches a label, and
 * `key=` any value of it. All words must match. Pure.
 */
import type { KubeObject } from "../data/resources.ts";

export interface Query {
  readonly words: readonly string[];
  readonly labels: readonly (readonly [key: string, value: string])[];
}

export function parseQuery(text: string): Query {
  const words: string[] = [];
  const labels: [string, string][] = [];
  for (const word of text.toLowerCase().split(/\s+/)) {
    const sign = word.indexOf("=");
    if (sign > 0) labels.push([word.slice(0, sign), word.slice(sign + 1)]);
    else if (word !== "") words.push(word);
  }
  return { words, labels };
}

/** What `words` are looked for in, by object. */
export type Searchable<T> = (item: T) => string;

const texts = new WeakMap<object, string>();

export function matches<T extends KubeObject>(item: T, { words, labels }: Query, more: Searchable<T>): boolean {
  const own = item.metadata?.labels ?? {};
  const hasLabels = labels.every(([key, value]) =>
    Object.entries(own).some(
      ([name, is]) => name.toLowerCase() === key && (value === "" || is.toLowerCase().startsWith(value)),
    ),
  );
  if (!hasLabels || words.length === 0) return hasLabels;
  let text = texts.get(item);
  if (text === undefined) {
    text = `${item.metadata?.name ?? ""} ${item.metadata?.namespace ?? ""} ${more(item)}`.toLowerCase();
    texts.set(item, text);
  }
  const found = text;
  return words.every((word) => found.includes(word));
}

export type SortKey<T> = (item: T) => string | number;

/** A sorted copy. Equal objects are in the order of their namespaces and names. */
export function sortBy<T extends KubeObject>(items: readonly T[], key: SortKey<T>, isDescending: boolean): T[] {
  const keyed = items.map((item) => ({ item, key: key(item), name: nameOf(item) }));
  const direction = isDescending ? -1 : 1;
  keyed.sort((a, b) => direction * compare(a.key, b.key) || compare(a.name, b.name));
  return keyed.map(({ item }) => item);
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata?.name ?? ""} ${metadata?.namespace ?? ""}`;
}

/** For sorting by age: the newest has the smallest age. */
export function createdAt({ metadata }: KubeObject): number {
  return Date.parse(metadata?.creationTimestamp ?? "") || 0;
}
