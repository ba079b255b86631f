import { isJsonObject } from "./deep-equal.ts";
import { parseQuantity } from "./quantity.ts";
import { isAmount, isEmpty, meaningAt } from "./semantic-equal.ts";
import { parseTime } from "./time.ts";

/**
 * The same text for all values that are equal by `semanticEqual`, for hashes: keys are sorted, empty values are left out, quantities
 * and times are written as numbers. `at` is the path of the value, as for `semanticEqual`.
 */
export function canonicalJson(value: unknown, at: readonly string[] = []): string {
  return JSON.stringify(canonical(value, [...at])) ?? "";
}

function canonical(value: unknown, path: string[]): unknown {
  if (isEmpty(value, path.at(-1))) return undefined;
  return typeof value === "object" ? canonicalItem(value, path) : canonicalLeaf(value, path);
}

/** An empty item of a list is kept. No list contains quantities or times. */
function canonicalItem(value: unknown, path: string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => canonicalItem(item, path));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, inner]) => {
    path.push(key);
    const entry = [key, canonical(inner, path)] as const;
    path.pop();
    return entry;
  });
  return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function canonicalLeaf(value: unknown, path: readonly string[]): unknown {
  const meaning = meaningAt(path);
  if (meaning === "quantity" && isAmount(value)) {
    const quantity = parseQuantity(String(value));
    return "error" in quantity ? value : { nanos: String(quantity.nanos) };
  }
  if (meaning === "time" && typeof value === "string") {
    const time = parseTime(value);
    return "error" in time ? value : { nanos: String(time.epochNanos) };
  }
  return value;
}
