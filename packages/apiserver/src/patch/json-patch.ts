import { isJsonObject, type JsonObject } from "../api-object.ts";
import { equalJson } from "../json.ts";

export const maxPatchOperations = 10_000;
/** Each copy operation can double the document. No real patch copies this many values. */
const maxCopiedValues = 100_000;

export type Patched = { readonly value: unknown } | { readonly problem: string };

/** Applies a JSON patch (RFC 6902) to a copy of the document. If one operation fails, the whole patch fails. */
export function jsonPatch(document: unknown, operations: readonly unknown[]): Patched {
  const state: State = { root: structuredClone(document), copied: 0 };
  for (const [at, operation] of operations.entries()) {
    const problem = isJsonObject(operation) ? applyOperation(state, operation) : "an operation must be an object";
    if (problem !== undefined) return { problem: `operation ${at}: ${problem}` };
  }
  return { value: state.root };
}

interface State {
  root: unknown;
  copied: number;
}

/** Applies one operation to `state`. Returns the problem if it cannot be applied. */
function applyOperation(state: State, operation: JsonObject): string | undefined {
  const path = parsePointer(operation["path"]);
  if (path === undefined) return `"path" must be a JSON pointer, not ${JSON.stringify(operation["path"])}`;
  switch (operation["op"]) {
    case "add":
      return "value" in operation
        ? put(state, path, { value: structuredClone(operation["value"]), insert: true })
        : needsValue;
    case "replace":
      return "value" in operation
        ? put(state, path, { value: structuredClone(operation["value"]), insert: false })
        : needsValue;
    case "remove":
      return remove(state, path);
    case "test": {
      if (!("value" in operation)) return needsValue;
      const found = find(state.root, path);
      return found !== undefined && equalJson(found.value, operation["value"])
        ? undefined
        : `testing value at "/${path.join("/")}" failed`;
    }
    case "move":
    case "copy":
      return transfer(state, operation, path);
    default:
      return `unknown operation ${JSON.stringify(operation["op"])}`;
  }
}

const needsValue = '"value" is missing';

function transfer(state: State, operation: JsonObject, path: readonly string[]): string | undefined {
  const from = parsePointer(operation["from"]);
  if (from === undefined) return `"from" must be a JSON pointer, not ${JSON.stringify(operation["from"])}`;
  const found = find(state.root, from);
  if (found === undefined) return missing(from);
  if (operation["op"] === "move") {
    if (path.length > from.length && from.every((key, at) => key === path[at]))
      return "cannot move a value into itself";
    return remove(state, from) ?? put(state, path, { value: found.value, insert: true });
  }
  state.copied += countValues(found.value);
  if (state.copied > maxCopiedValues) return `more than ${maxCopiedValues} values are copied`;
  return put(state, path, { value: structuredClone(found.value), insert: true });
}

function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + countValues(member), 1);
}

function parsePointer(pointer: unknown): string[] | undefined {
  if (pointer === "") return [];
  if (typeof pointer !== "string" || !pointer.startsWith("/") || /~(?![01])/.test(pointer)) return undefined;
  const keys = pointer
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  return keys.includes("__proto__") ? undefined : keys;
}

const missing = (path: readonly string[]): string => `nothing is at "/${path.join("/")}"`;

function find(root: unknown, path: readonly string[]): { value: unknown } | undefined {
  let value = root;
  for (const key of path) {
    if (Array.isArray(value)) {
      const index = arrayIndex(key, value.length - 1);
      if (index === undefined) return undefined;
      value = value[index];
    } else if (isJsonObject(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return { value };
}

function arrayIndex(key: string, max: number): number | undefined {
  if (!/^(0|[1-9]\d{0,8})$/.test(key)) return undefined;
  const index = Number(key);
  return index <= max ? index : undefined;
}

function put(
  state: State,
  path: readonly string[],
  { value, insert }: { value: unknown; insert: boolean },
): string | undefined {
  const key = path.at(-1);
  if (key === undefined) {
    state.root = value;
    return undefined;
  }
  const parent = find(state.root, path.slice(0, -1))?.value;
  if (Array.isArray(parent)) {
    const index = insert && key === "-" ? parent.length : arrayIndex(key, insert ? parent.length : parent.length - 1);
    if (index === undefined) return missing(path);
    parent.splice(index, insert ? 0 : 1, value);
    return undefined;
  }
  if (!isJsonObject(parent) || (!insert && !Object.hasOwn(parent, key))) return missing(path);
  (parent as Record<string, unknown>)[key] = value;
  return undefined;
}

function remove(state: State, path: readonly string[]): string | undefined {
  const key = path.at(-1);
  if (key === undefined) return "cannot remove the whole object";
  const parent = find(state.root, path.slice(0, -1))?.value;
  if (Array.isArray(parent)) {
    const index = arrayIndex(key, parent.length - 1);
    if (index === undefined) return missing(path);
    parent.splice(index, 1);
    return undefined;
  }
  if (!isJsonObject(parent) || !Object.hasOwn(parent, key)) return missing(path);
  delete (parent as Record<string, unknown>)[key];
  return undefined;
}
