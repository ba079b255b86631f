import { isJsonObject } from "../api-object.ts";
import { quoted } from "./go-format.ts";

/** Compares strings by their code points, which is the order of their bytes. JavaScript's order differs beyond U+FFFF. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const [a, b] = [left[Symbol.iterator](), right[Symbol.iterator]()];
  for (;;) {
    const [x, y] = [a.next(), b.next()];
    if (x.done === true || y.done === true) return Number(x.done !== true) - Number(y.done !== true);
    if (x.value !== y.value) return (x.value.codePointAt(0) ?? 0) - (y.value.codePointAt(0) ?? 0);
  }
}

/** A total order over JSON values: numbers, strings, booleans, lists, objects, null. */
export function compareValues(left: unknown, right: unknown): number {
  const rank = rankOf(left);
  if (rank !== rankOf(right)) return rank - rankOf(right);
  if (typeof left === "number" || typeof left === "boolean") return Number(left) - Number(right);
  if (typeof left === "string") return compareText(left, right as string);
  if (Array.isArray(left)) return compareLists(left, right as unknown[], compareValues);
  return isJsonObject(left) && isJsonObject(right)
    ? compareLists(entriesOf(left), entriesOf(right), compareEntries)
    : 0;
}

function rankOf(value: unknown): number {
  if (typeof value === "number") return 0;
  if (typeof value === "string") return 1;
  if (typeof value === "boolean") return 2;
  if (Array.isArray(value)) return 3;
  return isJsonObject(value) ? 4 : 5;
}

/** A member of an object. Lists of entries are sorted by name. */
export type ValueEntry = readonly [name: string, value: unknown];

export function entriesOf(object: { readonly [key: string]: unknown }): ValueEntry[] {
  return Object.entries(object).sort(([left], [right]) => compareText(left, right));
}

export function compareEntries(left: ValueEntry, right: ValueEntry): number {
  return compareText(left[0], right[0]) || compareValues(left[1], right[1]);
}

export function compareLists<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): number {
  for (let at = 0; at < left.length && at < right.length; at += 1) {
    const order = compare(left[at] as T, right[at] as T);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** A value as it appears in the path of a field. */
export function renderValue(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(renderValue).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  return entriesOf(value)
    .map(([name, member]) => `${name}=${renderValue(member)}`)
    .join("");
}

const jsonEscapes: Readonly<Record<string, string>> = {
  "\\b": "\\u0008",
  "\\f": "\\u000c",
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

/** Printable ASCII without the quote, the backslash and the characters of `jsonEscapes`: nearly all names. */
const plainName = /^[\x20\x21\x23-\x25\x27-\x3b\x3d\x3f-\x5b\x5d-\x7e]*$/;

function jsonText(text: string): string {
  if (plainName.test(text)) return `"${text}"`;
  return JSON.stringify(text.toWellFormed()).replaceAll(
    /\\\\|\\"|\\[bf]|[<>&\u2028\u2029]/g,
    (found) => jsonEscapes[found] ?? found,
  );
}

/** JSON with sorted keys and Kubernetes' escapes, so that equal values have equal bytes. */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return jsonText(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value ?? null);
  return `{${entriesOf(value)
    .map(([name, member]) => `${canonicalJson(name)}:${canonicalJson(member)}`)
    .join(",")}}`;
}
