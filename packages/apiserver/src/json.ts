import { ApiError } from "./api-error.ts";
import { isJsonObject } from "./api-object.ts";

/** Kubernetes objects are shallow; this is far above any real one and far below what could exhaust a stack. */
export const maxJsonDepth = 100;

export type Copied = { readonly value: unknown } | { readonly problem: string };

/**
 * Copies a value as JSON would carry it: members that are `undefined` vanish, dates become strings. What JSON cannot
 * carry, nesting beyond the bound, and the key `__proto__` are problems, so that everything past this point is plain.
 */
export function copyJson(value: unknown): Copied {
  try {
    return { value: copyValue(value, 1) };
  } catch (error) {
    if (error instanceof NotPlain) return { problem: error.message };
    throw error;
  }
}

/** What keeps a value that `JSON.parse` made from being taken as it is; no copy is needed then. */
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

/** The answer to a body with a problem: one that is too deep is understood, and still refused. */
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

/** Whether two JSON values are the same, whatever the order of their keys. */
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
