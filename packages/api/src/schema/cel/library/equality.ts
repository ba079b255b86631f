import { Optional } from "@marcbachmann/cel-js";
import { Duration, nanosOf, UnsignedInt } from "./values.ts";

interface Comparable {
  equals(other: unknown): boolean;
}

const hasEquals = (value: object): value is Comparable => typeof (value as Partial<Comparable>).equals === "function";

/** Equality in CEL: numbers of different types by value, lists and maps by content. */
export function celEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return plain(a) == plain(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Date) return b instanceof Date && a.getTime() === b.getTime();
  if (a instanceof Duration) return b instanceof Duration && nanosOf(a) === nanosOf(b);
  if (a instanceof Optional) return b instanceof Optional && celEquals(contentOf(a), contentOf(b));
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => celEquals(item, b[index]));
  }
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  return hasEquals(a) ? a.equals(b) : equalMaps(entriesOf(a), entriesOf(b));
}

/** Empty optionals are equal to each other and to nothing else. */
const contentOf = (optional: Optional): unknown => (optional.hasValue() ? optional.value() : undefined);

type CelNumber = bigint | number | { valueOf(): bigint };

function isNumber(value: unknown): value is CelNumber {
  return typeof value === "bigint" || typeof value === "number" || value instanceof UnsignedInt;
}

const plain = (value: CelNumber): bigint | number => (typeof value === "object" ? value.valueOf() : value);

export function entriesOf(map: object): Map<unknown, unknown> {
  return map instanceof Map ? map : new Map<unknown, unknown>(Object.entries(map));
}

function equalMaps(a: Map<unknown, unknown>, b: Map<unknown, unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    if (!b.has(key) || !celEquals(value, b.get(key))) return false;
  }
  return true;
}

/** Returns a negative number, zero or a positive number. Throws for values of different types. */
export function celCompare(a: unknown, b: unknown): number {
  if (isNumber(a) && isNumber(b)) return order(plain(a), plain(b));
  if (typeof a === "string" && typeof b === "string") return order(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return order(Number(a), Number(b));
  if (a instanceof Date && b instanceof Date) return order(a.getTime(), b.getTime());
  if (a instanceof Duration && b instanceof Duration) return order(nanosOf(a), nanosOf(b));
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  throw new Error("no such overload: values of different types have no order");
}

function order<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
