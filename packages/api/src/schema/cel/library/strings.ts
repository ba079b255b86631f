import { spend, weightOf } from "../budget.ts";
import { formatString } from "./format-string.ts";
import type { Library } from "./library.ts";

/** Splits into code points, because positions in CEL count code points and not UTF-16 units. */
const characters = (text: string): string[] => {
  spend(weightOf(text));
  return Array.from(text);
};

// Most strings have no surrogate pairs and need not be split.
const isPlain = (text: string): boolean => !/[\ud800-\udfff]/.test(text);

function indexOf(text: string, part: string, from: bigint): bigint {
  if (part === "") return from;
  if (from < 0n) throw new Error(`index out of range: ${from}`);
  const start = Number(from);
  if (isPlain(text)) return start >= text.length ? -1n : BigInt(text.indexOf(part, start));
  const before = characters(text).slice(0, start).join("").length;
  const found = before >= text.length ? -1 : text.indexOf(part, before);
  return found < 0 ? -1n : BigInt(characters(text.slice(0, found)).length);
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const all = characters(text);
  if (part === "") return from ?? BigInt(all.length);
  if (from !== undefined && from < 0n) throw new Error(`index out of range: ${from}`);
  if (from !== undefined && from >= all.length) return -1n;
  const start = from === undefined ? text.length : all.slice(0, Number(from)).join("").length;
  const found = text.lastIndexOf(part, start);
  return found < 0 ? -1n : BigInt(characters(text.slice(0, found)).length);
}

function substring(text: string, start: bigint, end?: bigint): string {
  const all = characters(text);
  if (end !== undefined && start > end) throw new Error(`invalid substring range. start: ${start}, end: ${end}`);
  for (const index of [start, end ?? start]) {
    if (index < 0n || index > all.length) throw new Error(`index out of range: ${index}`);
  }
  return all.slice(Number(start), end === undefined ? undefined : Number(end)).join("");
}

function charAt(text: string, index: bigint): string {
  const all = characters(text);
  if (index < 0n || index > all.length) throw new Error(`index out of range: ${index}`);
  return all[Number(index)] ?? "";
}

function replace(text: string, old: string, replacement: string, limit = -1n): string {
  if (limit === 0n) return text;
  const parts = old === "" ? characters(text) : text.split(old);
  const most = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit);
  const places = Math.min(most, old === "" ? parts.length + 1 : parts.length - 1);
  // The result can be much longer than the text.
  spend(weightOf(text) + (places * (1 + replacement.length)) / 16);
  if (old === "") return replaceBetween(parts, replacement, places);
  const kept = parts.slice(0, places + 1).join(replacement);
  return places < parts.length - 1 ? [kept, ...parts.slice(places + 1)].join(old) : kept;
}

function replaceBetween(parts: readonly string[], replacement: string, places: number): string {
  const before = parts.map((part, at) => (at < places ? replacement + part : part)).join("");
  return places > parts.length ? before + replacement : before;
}

function split(text: string, separator: string, limit = -1n): string[] {
  if (limit === 0n) return [];
  const parts = separator === "" ? characters(text) : text.split(separator);
  spend(parts.length);
  if (limit < 0n || parts.length <= limit) return parts;
  const kept = Number(limit) - 1;
  return [...parts.slice(0, kept), parts.slice(kept).join(separator)];
}

function join(list: readonly unknown[], separator = ""): string {
  spend(weightOf(list) + list.length * (1 + weightOf(separator)));
  const wrong = list.find((item) => typeof item !== "string");
  if (wrong !== undefined) throw new Error("join: invalid input: not a string");
  return list.join(separator);
}

const escapes = new Map(
  Object.entries({
    "\u0007": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
  }),
);

export function quote(text: string): string {
  spend(weightOf(text));
  const inside = Array.from(text.toWellFormed(), (character) => escapes.get(character) ?? character);
  return `"${inside.join("")}"`;
}

/** Trims Unicode white space, which unlike JavaScript's excludes the byte order mark and includes NEL. */
const trim = (text: string): string => text.replace(/^[\p{White_Space}]+/u, "").replace(/[\p{White_Space}]+$/u, "");

export const strings: Library = {
  namespaces: ["strings"],
  functions: {
    "string.charAt(int): string": charAt,
    "string.format(list): string": formatString,
    "string.indexOf(string): int": (text: string, part: string) => indexOf(text, part, 0n),
    "string.indexOf(string, int): int": indexOf,
    "string.lastIndexOf(string): int": (text: string, part: string) => lastIndexOf(text, part),
    "string.lastIndexOf(string, int): int": lastIndexOf,
    "string.lowerAscii(): string": (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase()),
    "string.upperAscii(): string": (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase()),
    "string.replace(string, string): string": (text: string, old: string, with_: string) => replace(text, old, with_),
    "string.replace(string, string, int): string": replace,
    "string.split(string): list<string>": (text: string, separator: string) => split(text, separator),
    "string.split(string, int): list<string>": split,
    "string.substring(int): string": (text: string, start: bigint) => substring(text, start),
    "string.substring(int, int): string": substring,
    "string.trim(): string": trim,
    "list.join(): string": (list: readonly unknown[]) => join(list),
    "list.join(string): string": join,
    "namespace.strings.quote(string): string": (_: unknown, text: string) => quote(text),
  },
};
