import { RpcError } from "../../connect/rpc-error.ts";
import { flagField, integerField, textField } from "../../http/fields.ts";
import { badRequest } from "../../http/http-error.ts";
import type { JsonObject } from "../../http/read-body.ts";
import { type FileInfo, Files, pathBelow } from "../../runtime/file-calls.ts";
import { RuntimeError } from "../../runtime/rest.ts";
import { type ActingUser, absolutePath, actingUser, basicUser } from "./acting-user.ts";
import type { EnvdCall } from "./context.ts";
import { entryInfo } from "./entry-info.ts";
import { metadataPrefix } from "./file-metadata.ts";
import type { StreamMethod, UnaryMethod } from "./rpc.ts";
import { type WatchOptions, watchEvents } from "./watch-events.ts";

interface FileCall {
  readonly files: Files;
  readonly user: ActingUser;
  readonly pathOf: (name: string) => string;
}

async function open(call: EnvdCall, message: JsonObject): Promise<FileCall> {
  const { context, target, signal, request } = call;
  const user = await actingUser(call, basicUser(request.headers.authorization));
  const owner = user.isNamed ? user.name : undefined;
  const files = new Files(context.runtime, target, { signal, owner, attributes: metadataPrefix });
  return { files, user, pathOf: (name) => absolutePath(textField(message, name) ?? "", user) };
}

const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof RuntimeError && codes.includes(error.code);

const entryOf = async ({ context, target, signal }: EnvdCall, info: FileInfo, path: string): Promise<object> => ({
  entry: entryInfo(info, await context.users.names(target, signal), path),
});

export const stat: UnaryMethod = async (call, message) => {
  const { files, pathOf } = await open(call, message);
  const path = pathOf("path");
  return entryOf(call, await files.stat(path, { follow: false }), path);
};

const maxDepth = 255;
/** A listing is one message. */
const maxEntries = 100_000;
const maxListBytes = 64 * 1024 * 1024;

export const listDir: UnaryMethod = async (call, message) => {
  const { files, pathOf } = await open(call, message);
  const path = pathOf("path");
  const depth = integerField(message, "depth") || 1;
  if (depth < 1 || depth > maxDepth) throw badRequest(`depth must be 1 to ${maxDepth}`);
  const top = await files.stat(path, { follow: true });
  if (top.type !== "directory") throw new RpcError("invalid_argument", `path is not a directory: ${path}`);
  const names = await call.context.users.names(call.target, call.signal);
  const entries: object[] = [];
  let bytes = 0;
  for await (const info of files.tree(path, depth)) {
    const entry = entryInfo(info, names, pathBelow(path, top.path, info.path));
    bytes += JSON.stringify(entry).length;
    if (entries.length >= maxEntries || bytes > maxListBytes) {
      throw new RpcError("resource_exhausted", `the directory has more than ${maxEntries} entries, or too long names`);
    }
    entries.push(entry);
  }
  return { entries };
};

export const makeDir: UnaryMethod = async (call, message) => {
  const { files, pathOf } = await open(call, message);
  const path = pathOf("path");
  const existing = await files.stat(path, { follow: true }).catch((error: unknown) => {
    if (!isCode(error, "NOT_FOUND")) throw error;
    return undefined;
  });
  if (existing?.type === "directory") throw new RpcError("already_exists", `directory already exists: ${path}`);
  if (existing !== undefined) throw new RpcError("invalid_argument", `path exists and is not a directory: ${path}`);
  await files.makeDirectory(path);
  return entryOf(call, await files.stat(path, { follow: false }), path);
};

export const move: UnaryMethod = async (call, message) => {
  const { files, pathOf } = await open(call, message);
  const [source, destination] = [pathOf("source"), pathOf("destination")];
  await files.move(source, destination);
  return entryOf(call, await files.stat(destination, { follow: false }), destination);
};

export const remove: UnaryMethod = async (call, message) => {
  const { files, pathOf } = await open(call, message);
  await files.remove(pathOf("path")).catch((error: unknown) => {
    if (!isCode(error, "NOT_FOUND")) throw error;
  });
  return {};
};

async function readWatch(call: EnvdCall, message: JsonObject): Promise<WatchOptions> {
  const { files, pathOf } = await open(call, message);
  const path = pathOf("path");
  const top = await files.stat(path, { follow: true });
  if (top.type !== "directory") throw new RpcError("invalid_argument", `path is not a directory: ${path}`);
  return {
    top: top.path,
    recursive: flagField(message, "recursive") ?? false,
    includesEntry: flagField(message, "includeEntry") ?? false,
  };
}

export const watchDir: StreamMethod = async (call, message, sink) => {
  const options = await readWatch(call, message);
  for await (const event of watchEvents(call, options)) await sink.send(event);
};

/** For clients that cannot read a stream: events are kept until they are fetched. */
export const createWatcher: UnaryMethod = async (call, message) => {
  const options = await readWatch(call, message);
  const { context, target } = call;
  const watcherId = await context.watchers.create(target, (signal) => watchEvents({ ...call, signal }, options));
  return { watcherId };
};

export const getWatcherEvents: UnaryMethod = async ({ context, target }, message) => ({
  events: context.watchers.take(target, textField(message, "watcherId") ?? ""),
});

export const removeWatcher: UnaryMethod = async ({ context, target }, message) => {
  context.watchers.remove(target, textField(message, "watcherId") ?? "");
  return {};
};
