import { KubeError } from "../errors.ts";

type Json = unknown;
type JsonObject = Record<string, Json>;

/** RFC 7386. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else if (value !== undefined) result[name] = mergePatch(result[name], value);
  }
  return result;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

/** RFC 6902. The target is not modified. */
export function jsonPatch(target: Json, operations: Json): Json {
  if (!Array.isArray(operations)) throw new KubeError("BadRequest", "a JSON patch is a list of operations");
  let document = structuredClone(target);
  for (const operation of operations as Operation[]) document = applyOperation(document, operation);
  return document;
}

function applyOperation(document: Json, { op, path, from, value }: Operation): Json {
  switch (op) {
    case "add":
      return write(document, pointer(path), { insert: true, value });
    case "replace":
      read(document, pointer(path));
      return write(document, pointer(path), { insert: false, value });
    case "remove":
      return remove(document, pointer(path));
    case "move": {
      const moved = read(document, pointer(from ?? ""));
      return write(remove(document, pointer(from ?? "")), pointer(path), { insert: true, value: moved });
    }
    case "copy":
      return write(document, pointer(path), {
        insert: true,
        value: structuredClone(read(document, pointer(from ?? ""))),
      });
    case "test":
      if (stableJson(read(document, pointer(path))) === stableJson(value)) return document;
      throw new KubeError("Invalid", `testing value "${path}" failed`);
    default:
      throw new KubeError("BadRequest", `unknown JSON patch operation "${op}"`);
  }
}

function pointer(path: string): string[] {
  if (path !== "" && !path.startsWith("/")) throw new KubeError("BadRequest", `"${path}" is not a JSON pointer`);
  return path
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function read(document: Json, path: readonly string[]): Json {
  let at = document;
  for (const part of path) {
    const holder = at as JsonObject;
    if (typeof at !== "object" || at === null || !Object.hasOwn(holder, part)) throw missing(path);
    at = holder[part];
  }
  return at;
}

function write(document: Json, path: readonly string[], change: { insert: boolean; value: Json }): Json {
  const last = path.at(-1);
  if (last === undefined) return change.value;
  const holder = read(document, path.slice(0, -1));
  if (Array.isArray(holder)) {
    const at = last === "-" ? holder.length : Number(last);
    if (!Number.isInteger(at) || at < 0 || at > holder.length) throw missing(path);
    holder.splice(at, change.insert ? 0 : 1, change.value);
  } else if (isObject(holder)) holder[last] = change.value;
  else throw missing(path);
  return document;
}

function remove(document: Json, path: readonly string[]): Json {
  read(document, path);
  const holder = read(document, path.slice(0, -1));
  if (Array.isArray(holder)) holder.splice(Number(path.at(-1)), 1);
  else delete (holder as JsonObject)[path.at(-1) ?? ""];
  return document;
}

function missing(path: readonly string[]): KubeError {
  return new KubeError("Invalid", `the path "/${path.join("/")}" of the JSON patch does not exist`);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON with sorted keys, so that equal values have equal strings. */
export function stableJson(value: Json): string {
  return JSON.stringify(value, (_, part: Json) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
