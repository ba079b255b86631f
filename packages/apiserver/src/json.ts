import { ApiError } from "./api-error.ts";
import { isJsonObject } from "./api-object.ts";

/** Far more than real objects have, and far less than would exhaust the stack. */
export const maxJsonDepth = 100;

export type Copied = { readonly value: unknown } | { readonly problem: string };

/**
 * Copies a value like `JSON.parse(JSON.stringify(value))`: omits members that are `undefined` and converts dates to strings.
 * Returns a problem for values that JSON does not have, for nesting beyond the limit, and for the key `__proto__`.
 */
export function copyJson(value: unknown): Copied {
  try {
    return { value: copyValue(value, 1) };
  } catch (error) {
    if (error instanceof NotPlain) return { problem: error.message };
    throw error;
  }
}

/** The problem that `copyJson` would report for a value from `JSON.parse`, which need not be copied. */
export function parsedProblem(value: unknown, depth = 1): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > maxJsonDepth) return tooDeep;
  if (Object.hasOwn(value, "__proto__")) return protoKey;
  for (const member of Object.values(value)) {
    const problem = parsedProblem(member, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The error for a body with such a problem. A body that is nested too deeply is valid JSON, and therefore `Invalid`. */
export function bodyError(problem: string): ApiError {
  return new ApiError(problem === tooDeep ? "Invalid" : "BadRequest", `Cannot read the body: ${problem}`);
}

const tooDeep = `it is nested deeper than ${maxJsonDepth} levels`;
const protoKey = 'the key "__proto__" is not allowed';

class NotPlain extends Error {}

function copyValue(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new NotPlain(`the number ${value} is not JSON`);
      return value;
    case "object":
      return value === null ? null : copyContainer(value, depth);
    default:
      throw new NotPlain(`a ${typeof value} is not JSON`);
  }
}

function copyContainer(value: object, depth: number): unknown {
  if (depth > maxJsonDepth) throw new NotPlain(tooDeep);
  if (Array.isArray(value)) return value.map((item: unknown) => copyValue(item ?? null, depth + 1));
  if (value instanceof Date) return value.toISOString();
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") throw new NotPlain(protoKey);
    if (member !== undefined) copy[key] = copyValue(member, depth + 1);
  }
  return copy;
}

/** Whether two JSON values are equal, regardless of the order of their keys. */
export function equalJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return Array.isArray(right) && left.length === right.length && left.every((item, at) => equalJson(item, right[at]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && equalJson(left[key], right[key]));
}
