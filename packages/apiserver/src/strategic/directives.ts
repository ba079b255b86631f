import { isJsonObject, type JsonObject } from "../api-object.ts";
import { PatchProblem } from "./patch-problem.ts";

/** In an object of a patch: what to do with it as a whole. */
export const patchDirective = "$patch";
/** In an object of a patch: the members to keep; all others go. */
export const retainKeys = "$retainKeys";
/** Before the name of a list of scalars: what to take out of it. */
export const deleteFromList = "$deleteFromPrimitiveList";
/** Before the name of a list: the order its items are to have. */
export const setElementOrder = "$setElementOrder";

type ListDirective = typeof deleteFromList | typeof setElementOrder;

export function badFormat(directive: ListDirective | typeof retainKeys): PatchProblem {
  if (directive === retainKeys) return new PatchProblem("invalid patch format of retainKeys");
  const list = directive === deleteFromList ? "primitive list" : "setElementOrder list";
  return new PatchProblem(`invalid patch format of ${list}`);
}

/** The name of the list that a directive such as `$setElementOrder/containers` is about. */
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
 * A value of a patch that is taken as it is, with nothing to be merged with: without what makes sense in a patch alone. Null
 * there says "delete", and there is nothing to delete. `undefined` when the whole value is a directive.
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
