import { isJsonObject, type JsonObject } from "../api-object.ts";
import { PatchProblem } from "./patch-problem.ts";

/** In an object of a patch: `replace` or `delete` the whole object. */
export const patchDirective = "$patch";
/** In an object of a patch: the members to keep. All others are removed. */
export const retainKeys = "$retainKeys";
/** `$deleteFromPrimitiveList/<list>`: the scalars to remove from that list. */
export const deleteFromList = "$deleteFromPrimitiveList";
/** `$setElementOrder/<list>`: the order of the items of that list. */
export const setElementOrder = "$setElementOrder";

type ListDirective = typeof deleteFromList | typeof setElementOrder;

export function badFormat(directive: ListDirective | typeof retainKeys): PatchProblem {
  if (directive === retainKeys) return new PatchProblem("invalid patch format of retainKeys");
  const list = directive === deleteFromList ? "primitive list" : "setElementOrder list";
  return new PatchProblem(`invalid patch format of ${list}`);
}

/** The list's name in a directive such as `$setElementOrder/containers`. */
export function listName(key: string, directive: ListDirective): string {
  if (!key.startsWith(`${directive}/`)) throw badFormat(directive);
  return key.slice(directive.length + 1);
}

export function hasDirective(value: unknown): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, patchDirective);
}

const isDirectiveKey = (key: string): boolean =>
  key === retainKeys || key.startsWith(deleteFromList) || key.startsWith(setElementOrder);

/**
 * A value of a patch that has no live value to merge with, without directives and nulls: a null means "delete", and there
 * is nothing to delete. `undefined` when the whole value is a directive.
 */
export function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return plainItems(value);
  if (!isJsonObject(value)) return value;
  return hasDirective(value) ? undefined : plainMembers(value);
}

export function plainItems(items: readonly unknown[]): unknown[] {
  return items.map(plainValue).filter((item) => item !== undefined);
}

export function plainMembers(value: JsonObject): JsonObject {
  const kept = Object.entries(value).filter(([key, member]) => member !== null && !isDirectiveKey(key));
  const plain = kept.map(([key, member]) => [key, plainValue(member)] as const);
  return Object.fromEntries(plain.filter(([, member]) => member !== undefined));
}
