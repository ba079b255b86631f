import { deepEqual, isJsonObject, type JsonObject, member } from "./deep-equal.ts";

/**
 * The RFC 7396 merge patch that turns `from` into `to`; undefined when they are equal. A merge patch cannot set a member to
 * null, so a null member of `to` counts as absent, as in Kubernetes.
 */
export function mergePatch(from: object, to: object): object | undefined;
export function mergePatch(from: unknown, to: unknown): unknown;
export function mergePatch(from: unknown, to: unknown): unknown {
  if (!isJsonObject(from) || !isJsonObject(to)) return deepEqual(from, to) ? undefined : to;
  const removed = Object.keys(from).filter((key) => isPresent(from[key]) && !isPresent(member(to, key)));
  const written = Object.keys(to).flatMap((key) => {
    const change = memberChange(member(from, key), to[key]);
    return change === undefined ? [] : [[key, change] as const];
  });
  if (removed.length === 0 && written.length === 0) return undefined;
  // Unlike assignment, fromEntries treats __proto__ as an ordinary member.
  return Object.fromEntries([...removed.map((key) => [key, null] as const), ...written]);
}

function memberChange(before: unknown, after: unknown): unknown {
  if (!isPresent(after)) return undefined;
  return isPresent(before) ? mergePatch(before, after) : after;
}

/** Applies an RFC 7396 merge patch to a copy. The result shares the members that the patch does not change. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const base: JsonObject = isJsonObject(target) ? target : {};
  const members = new Map(Object.entries(base));
  for (const [key, change] of Object.entries(patch)) {
    if (change === undefined) continue;
    if (change === null) members.delete(key);
    else members.set(key, applyMergePatch(members.get(key), change));
  }
  return Object.fromEntries(members);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}
