import { isJsonObject } from "../api-object.ts";
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

export function hasDirective(value: unknown): value is { readonly [key: string]: unknown } {
  return isJsonObject(value) && Object.hasOwn(value, patchDirective);
}

/** A value of a patch that has nothing to be merged with: without what only makes sense in a patch. */
export function plainValue(value: unknown): unknown {
  return withoutDirectives(withoutNulls(value));
}

/** Null in a patch says "delete", and there is nothing to delete. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)]));
}

/** `undefined` for an object that is itself a directive. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (hasDirective(value)) return undefined;
  const members = Object.entries(value).map(([key, member]) => [key, withoutDirectives(member)] as const);
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}
