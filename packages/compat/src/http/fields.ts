import { badRequest } from "./http-error.ts";
import type { JsonObject } from "./read-body.ts";

/** Reads one field of a request. Clients send null for fields that are not set. Throws a 400 that names the field. */
export function textField(from: JsonObject, name: string): string | undefined {
  const value = from[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw badRequest(`${name} must be a string`);
}

export function flagField(from: JsonObject, name: string): boolean | undefined {
  const value = from[name] ?? undefined;
  if (value === undefined || typeof value === "boolean") return value;
  throw badRequest(`${name} must be true or false`);
}

export function integerField(from: JsonObject, name: string): number | undefined {
  const value = from[name] ?? undefined;
  if (value === undefined || Number.isSafeInteger(value)) return value as number | undefined;
  throw badRequest(`${name} must be an integer`);
}

export function objectField(from: JsonObject, name: string): JsonObject | undefined {
  const value = from[name] ?? undefined;
  if (value === undefined || (typeof value === "object" && !Array.isArray(value)))
    return value as JsonObject | undefined;
  throw badRequest(`${name} must be an object`);
}

export function listField(from: JsonObject, name: string): readonly unknown[] | undefined {
  const value = from[name] ?? undefined;
  if (value === undefined || Array.isArray(value)) return value as readonly unknown[] | undefined;
  throw badRequest(`${name} must be a list`);
}

/** A map from names to texts. */
export function textMapField(from: JsonObject, name: string): Readonly<Record<string, string>> {
  const map = objectField(from, name) ?? {};
  for (const [key, value] of Object.entries(map)) {
    if (typeof value !== "string") throw badRequest(`${name}[${JSON.stringify(key.slice(0, 64))}] must be a string`);
  }
  return map as Readonly<Record<string, string>>;
}
