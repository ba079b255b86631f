import { Optional } from "@marcbachmann/cel-js";
import { spend, weightOf } from "../budget.ts";
import { celCompare, celEquals } from "./equality.ts";
import type { Functions, Library } from "./library.ts";
import { type DurationValue, durationOf, int64, nanosOf, UnsignedInt } from "./values.ts";

type List = readonly unknown[];

const comparable = [
  "int",
  "uint",
  "double",
  "bool",
  "string",
  "bytes",
  "google.protobuf.Duration",
  "google.protobuf.Timestamp",
];

function isSorted(list: List): boolean {
  spend(weightOf(list));
  return list.every((item, index) => index === 0 || celCompare(list[index - 1], item) <= 0);
}

function extreme(name: string, wanted: number): (list: List) => unknown {
  return (list) => {
    spend(weightOf(list));
    if (list.length === 0) throw new Error(`${name} called on empty list`);
    return list.reduce((best, item) => (Math.sign(celCompare(item, best)) === wanted ? item : best));
  };
}

function sorted(list: List): unknown[] {
  spendOnSorting(list);
  return [...list].sort(celCompare);
}

export function spendOnSorting(list: List): void {
  spend(weightOf(list) * (1 + Math.log2(list.length + 1)));
}

const sums: Functions = {
  "list<int>.sum(): int": (list: bigint[]) => list.reduce((sum, item) => int64(sum + item), 0n),
  "list<uint>.sum(): uint": (list: { valueOf(): bigint }[]) =>
    new UnsignedInt(list.reduce<bigint>((sum, item) => sum + item.valueOf(), 0n)),
  "list<double>.sum(): double": (list: number[]) => list.reduce((sum, item) => sum + item, 0),
  "list<google.protobuf.Duration>.sum(): google.protobuf.Duration": (list: DurationValue[]) =>
    durationOf(int64(list.reduce((sum, item) => sum + nanosOf(item), 0n))),
};

function slice(list: List, start: bigint, end: bigint): List {
  if (start < 0n || end < 0n) throw new Error(`cannot slice(${start}, ${end}), negative indexes not supported`);
  if (start > end)
    throw new Error(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`);
  if (end > list.length) throw new Error(`cannot slice(${start}, ${end}), list is length ${list.length}`);
  spend(Number(end - start));
  return list.slice(Number(start), Number(end));
}

function flatten(list: List, depth: bigint): List {
  if (depth < 0n) throw new Error("level must be non-negative");
  spend(weightOf(list));
  return list.flat(Number(depth));
}

function range(count: bigint): bigint[] {
  const size = Number(count < 0n ? 0n : count);
  spend(size);
  return Array.from({ length: size }, (_, index) => BigInt(index));
}

/** Quadratic, because CEL equality has no hash. It charges for each comparison. */
function distinct(list: List): unknown[] {
  const found: unknown[] = [];
  const texts = new Set<string>();
  for (const item of list) {
    if (typeof item === "string") {
      if (!texts.has(item)) found.push(item);
      texts.add(item);
      continue;
    }
    spend((found.length / 4) * (1 + weightOf(item)));
    if (!found.some((other) => celEquals(other, item))) found.push(item);
  }
  return found;
}

const ofEach = (name: string, returns: (type: string) => string, handler: (list: List) => unknown): Functions =>
  Object.fromEntries(comparable.map((type) => [`list<${type}>.${name}(): ${returns(type)}`, handler]));

export const lists: Library = {
  namespaces: ["lists"],
  functions: {
    ...sums,
    ...ofEach("isSorted", () => "bool", isSorted),
    ...ofEach("min", (type) => type, extreme("min", -1)),
    ...ofEach("max", (type) => type, extreme("max", 1)),
    ...ofEach("sort", (type) => `list<${type}>`, sorted),
    "list.indexOf(dyn): int": (list: List, item: unknown) => BigInt(list.findIndex((other) => celEquals(other, item))),
    "list.lastIndexOf(dyn): int": (list: List, item: unknown) =>
      BigInt(list.findLastIndex((other) => celEquals(other, item))),
    "list.slice(int, int): list": slice,
    "list.flatten(): list": (list: List) => flatten(list, 1n),
    "list.flatten(int): list": flatten,
    "list.reverse(): list": (list: List) => list.toReversed(),
    "list.distinct(): list": distinct,
    "list.first(): optional<dyn>": (list: List) => Optional.of(list[0]),
    "list.last(): optional<dyn>": (list: List) => Optional.of(list.at(-1)),
    "namespace.lists.range(int): list<int>": (_: unknown, count: bigint) => range(count),
  },
};
