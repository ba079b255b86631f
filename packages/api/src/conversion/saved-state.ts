import type * as z from "zod";
import { isJsonObject, type JsonObject } from "../primitives/deep-equal.ts";
import { Unconvertible } from "./unconvertible.ts";

// An object has at most 1 MiB, and the saved fields have less than half of this depth.
const maxLength = 1 << 20;
const maxDepth = 64;

/** Reads a state annotation. Users can write it, so its size, its depth and the types of its parts are checked. */
export function readState(annotations: ReadonlyMap<string, unknown>, key: string): JsonObject | undefined {
  const text = annotations.get(key);
  if (text === undefined) return undefined;
  if (typeof text !== "string") throw unreadable(key, "it is not a string");
  if (text.length > maxLength) throw unreadable(key, `it is longer than ${maxLength} characters`);
  const state = parse(key, text);
  if (!isJsonObject(state)) throw unreadable(key, "it is not a JSON object");
  if (isDeeperThan(state, maxDepth)) throw unreadable(key, `it is nested deeper than ${maxDepth} levels`);
  for (const part of ["spec", "status"]) {
    if (Object.hasOwn(state, part)) requireObject(key, part, state[part]);
  }
  return state;
}

export function unreadable(key: string, why: string): Unconvertible {
  return new Unconvertible(`cannot read annotation "${key}": ${why}; remove the annotation`);
}

/** The spec or the status of a saved state; empty when absent. */
export function partOf(state: JsonObject | undefined, part: "spec" | "status"): JsonObject {
  const value = state?.[part];
  return isJsonObject(value) ? value : {};
}

/** Why a schema rejects a value. The value itself is left out, because it may be long or private. */
export function refusal(error: z.ZodError): string {
  return error.issues[0]?.message ?? "invalid value";
}

function requireObject(key: string, part: string, value: unknown): void {
  if (value !== null && !isJsonObject(value)) throw unreadable(key, `"${part}" is not an object`);
}

function parse(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser quotes the text, which may be long or private.
    throw unreadable(key, "it is not valid JSON");
  }
}

/** Walks level by level instead of recursively, so that deep input does not overflow the stack. */
function isDeeperThan(root: object, limit: number): boolean {
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((node) =>
      Object.values(node).filter((inner): inner is object => typeof inner === "object" && inner !== null),
    );
  }
  return false;
}
