import { Optional } from "@marcbachmann/cel-js";
import { spend } from "../budget.ts";
import { celEquals } from "./equality.ts";
import type { Library } from "./library.ts";
import { Duration, nanosOf, UnsignedInt } from "./values.ts";

function isZero(value: unknown): boolean {
  if (value === null || value === "" || value === false || value === 0 || value === 0n) return true;
  if (typeof value !== "object") return false;
  if (Array.isArray(value)) return value.length === 0;
  if (value instanceof UnsignedInt) return value.valueOf() === 0n;
  if (value instanceof Duration) return nanosOf(value) === 0n;
  if (value instanceof Map) return value.size === 0;
  return Object.getPrototypeOf(value) === null && Object.keys(value).length === 0;
}

function unwrap(list: readonly unknown[]): unknown[] {
  spend(list.length);
  return list.flatMap((item) => (item instanceof Optional ? (item.hasValue() ? [item.value()] : []) : [item]));
}

/** Functions for optional values that the CEL library lacks. */
export const optionals: Library = {
  equals: { optional: celEquals },
  functions: {
    "OptionalNamespace.ofNonZeroValue(dyn): optional<dyn>": (_: unknown, value: unknown) =>
      isZero(value) ? Optional.none() : Optional.of(value),
    "OptionalNamespace.unwrap(list): list": (_: unknown, list: readonly unknown[]) => unwrap(list),
    "list.unwrapOpt(): list": unwrap,
  },
};
