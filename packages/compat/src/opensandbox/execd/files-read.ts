import type { JsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { type FileInfo, Files, pathBelow } from "../../runtime/file-calls.ts";
import { OpenSandboxError } from "../failure.ts";
import type { ExecdCall } from "./context.ts";
import { invalidRequest, missingQuery } from "./execd-error.ts";
import { fileInfoJson } from "./file-info.ts";
import { namePattern } from "./name-pattern.ts";
import { pathsOf } from "./paths.ts";

const maxDepth = 255;
/** A listing is one JSON value. */
const maxEntries = 100_000;
const maxListBytes = 64 * 1024 * 1024;

export const filesOf = ({ context, target, signal }: ExecdCall): Files =>
  new Files(context.runtime, target, { signal });

/** `GET /files/info?path=…&path=…` */
export async function filesInfo(call: ExecdCall): Promise<void> {
  const requested = requiredPaths(call);
  const paths = await pathsOf(call);
  const names = await call.context.users.names(call.target, call.signal);
  const files = filesOf(call);
  const entries: [string, object][] = [];
  for (const path of new Set(requested)) {
    const absolute = paths.resolve(path);
    entries.push([path, fileInfoJson(await files.stat(absolute, { follow: false }), names, absolute)]);
  }
  sendJson(call.response, 200, Object.fromEntries(entries));
}

export function requiredPaths({ url }: ExecdCall): readonly string[] {
  const paths = url.searchParams.getAll("path");
  if (paths.length === 0) throw missingQuery("path");
  return paths;
}

/** A value of a body that maps paths to objects. */
export function objectOf(path: string, value: unknown): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw invalidRequest(`The value of ${JSON.stringify(path.slice(0, 64))} must be an object`);
}

/** `GET /directories/list?path=…&depth=…` */
export async function listDirectory(call: ExecdCall): Promise<void> {
  const text = call.url.searchParams.get("depth") ?? "1";
  const depth = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (depth < 1 || depth > maxDepth) throw invalidRequest(`depth can be 1 to ${maxDepth}`);
  sendJson(call.response, 200, await collect(call, depth, () => true));
}

/** `GET /files/search?path=…&pattern=…`: what is below a directory, directories left out, by name. */
export async function searchFiles(call: ExecdCall): Promise<void> {
  const matches = namePattern(call.url.searchParams.get("pattern") || "**");
  sendJson(call.response, 200, await collect(call, 0, ({ type, name }) => type !== "directory" && matches(name)));
}

async function collect(
  call: ExecdCall,
  depth: number,
  isWanted: (info: FileInfo) => boolean,
): Promise<readonly object[]> {
  const path = call.url.searchParams.get("path") ?? "";
  if (path === "") throw missingQuery("path");
  const requested = (await pathsOf(call)).resolve(path);
  const files = filesOf(call);
  const top = await files.stat(requested, { follow: true });
  if (top.type !== "directory") throw new OpenSandboxError(400, "INVALID_FILE", `${requested} is not a directory`);
  const names = await call.context.users.names(call.target, call.signal);
  const found: object[] = [];
  let bytes = 0;
  for await (const info of files.tree(requested, depth)) {
    if (!isWanted(info)) continue;
    const entry = fileInfoJson(info, names, pathBelow(requested, top.path, info.path));
    bytes += JSON.stringify(entry).length;
    if (found.length >= maxEntries || bytes > maxListBytes) {
      throw invalidRequest(`${requested} has more than ${maxEntries} entries, or too long names: name a part of it`);
    }
    found.push(entry);
  }
  return found;
}
