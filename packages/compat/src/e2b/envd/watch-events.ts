import { RpcError } from "../../connect/rpc-error.ts";
import { type FileEvent, Files } from "../../runtime/file-calls.ts";
import type { EnvdCall } from "./context.ts";
import { entryInfo } from "./entry-info.ts";
import { metadataPrefix } from "./file-metadata.ts";

export interface WatchOptions {
  /** The real path of the watched directory. */
  readonly top: string;
  readonly recursive: boolean;
  /** Whether events describe the file. */
  readonly includesEntry: boolean;
}

export interface FilesystemEvent {
  readonly name: string;
  readonly type: string;
  readonly entry?: object;
}

/** A message of `WatchDir`. */
export type WatchMessage = { readonly start: object } | { readonly filesystem: FilesystemEvent };

const typeByType: Readonly<Record<string, string>> = {
  created: "EVENT_TYPE_CREATE",
  modified: "EVENT_TYPE_WRITE",
  deleted: "EVENT_TYPE_REMOVE",
  attributes: "EVENT_TYPE_CHMOD",
};

/** The changes below a directory, after a message that says that it is watched. */
export async function* watchEvents(
  call: Pick<EnvdCall, "context" | "target" | "signal">,
  options: WatchOptions,
): AsyncGenerator<WatchMessage> {
  const files = new Files(call.context.runtime, call.target, {
    signal: call.signal,
    attributes: metadataPrefix,
  });
  for await (const event of files.watch(options.top, options)) {
    if (event.type === "ready") yield { start: {} };
    else if (event.type === "overflow") throw new RpcError("internal", "changes were lost: watch the directory again");
    else yield { filesystem: await describe(call, files, options, event) };
  }
  throw new RpcError("unavailable", "the watch has ended");
}

async function describe(
  { context, target, signal }: Pick<EnvdCall, "context" | "target" | "signal">,
  files: Files,
  { top, includesEntry }: WatchOptions,
  { type, path = top }: FileEvent,
): Promise<FilesystemEvent> {
  const name = path.startsWith(top) ? path.slice(top.length).replace(/^\/+/, "") : path;
  const event = { name, type: typeByType[type] ?? "EVENT_TYPE_UNSPECIFIED" };
  if (!includesEntry || type === "deleted") return event;
  // A file that was removed in the meantime is reported by its own event.
  const info = await files.stat(path, { follow: false }).catch(() => undefined);
  return info === undefined ? event : { ...event, entry: entryInfo(info, await context.users.names(target, signal)) };
}
