import { isJsonObject } from "../api-object.ts";
import {
  canonicalJson,
  compareEntries,
  compareLists,
  compareText,
  compareValues,
  entriesOf,
  renderValue,
  type ValueEntry,
} from "./value-order.ts";

/** One step from a value to a part of it. `id` is its encoding in `FieldsV1`, which is the same for equal elements. */
export type PathElement =
  /** A member of an object. */
  | { readonly by: "field"; readonly id: string; readonly name: string }
  /** The item of a keyed list whose key fields have these values. */
  | { readonly by: "key"; readonly id: string; readonly key: readonly ValueEntry[] }
  /** The item of a set with this value. */
  | { readonly by: "value"; readonly id: string; readonly value: unknown }
  /** The item of a list at this index. */
  | { readonly by: "index"; readonly id: string; readonly index: number };

export type FieldPath = readonly PathElement[];

/** The key of a member in `FieldsV1`. */
export const fieldKey = (name: string): string => `f:${name}`;

export function field(name: string): PathElement {
  return { by: "field", id: fieldKey(name), name };
}

export function itemWithKey(key: { readonly [name: string]: unknown }): PathElement {
  return itemWithEntries(entriesOf(key));
}

/** `itemWithKey` for key fields that are sorted. */
export function itemWithEntries(key: readonly ValueEntry[]): PathElement {
  return { by: "key", id: `k:${keyJson(key)}`, key };
}

/** Kubernetes escapes the values of key fields, but not their names. */
function keyJson(entries: readonly ValueEntry[]): string {
  return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${canonicalJson(value)}`).join(",")}}`;
}

export function itemWithValue(value: unknown): PathElement {
  return { by: "value", id: `v:${canonicalJson(value)}`, value };
}

export function itemAt(index: number): PathElement {
  return { by: "index", id: `i:${index}`, index };
}

export type ParsedElement =
  | { readonly element: PathElement }
  /** A kind of element that a later version of the format may define. */
  | { readonly unknown: true }
  | { readonly problem: string };

export function parseElement(text: string): ParsedElement {
  if (text.length < 2 || text[1] !== ":") return { problem: `"${text}" is not a path element: it has no colon` };
  const content = text.slice(2);
  switch (text[0]) {
    case "f":
      return { element: field(content) };
    case "i":
      return /^[+-]?\d{1,15}$/.test(content)
        ? { element: itemAt(Number(content)) }
        : { problem: `"${content}" is not an index` };
    case "k":
    case "v":
      return parseJsonElement(text[0], content);
    default:
      return { unknown: true };
  }
}

function parseJsonElement(by: "k" | "v", content: string): ParsedElement {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    return { problem: `${JSON.stringify(content)} is not JSON` };
  }
  if (by === "v") return { element: itemWithValue(value) };
  return isJsonObject(value)
    ? { element: itemWithKey(value) }
    : { problem: `${content} is not an object of key fields` };
}

const ranks: Readonly<Record<PathElement["by"], number>> = { field: 0, key: 1, value: 2, index: 3 };

/** The order of the elements of one level in `FieldsV1`. */
export function compareElements(left: PathElement, right: PathElement): number {
  if (left.by === "field" && right.by === "field") return compareText(left.name, right.name);
  if (left.by === "key" && right.by === "key") return compareLists(left.key, right.key, compareEntries);
  if (left.by === "value" && right.by === "value") return compareValues(left.value, right.value);
  if (left.by === "index" && right.by === "index") return left.index - right.index;
  return ranks[left.by] - ranks[right.by];
}

/** The path during a walk, as a linked list: cheap to extend for every field, and converted only for those reported. */
export interface Trail {
  readonly above: Trail | undefined;
  readonly element: PathElement;
}

export function pathOf(trail: Trail | undefined): FieldPath {
  const path: PathElement[] = [];
  for (let at = trail; at !== undefined; at = at.above) path.push(at.element);
  return path.toReversed();
}

/** A path for messages: `.spec.containers[name="x"].image`. */
export function renderPath(path: FieldPath): string {
  return path.map(renderElement).join("");
}

export function renderElement(element: PathElement): string {
  switch (element.by) {
    case "field":
      return `.${element.name}`;
    case "key":
      return `[${element.key.map(([name, value]) => `${name}=${renderValue(value)}`).join(",")}]`;
    case "value":
      return `[=${renderValue(element.value)}]`;
    case "index":
      return `[${element.index}]`;
  }
}
