import type { IncomingMessage } from "node:http";
import { readJsonLines } from "./json-lines.ts";
import { callRest, pathInUrl, RuntimeError, sendRest, tellRest } from "./rest.ts";
import { keepAliveSeconds, type Runtime, type Target } from "./runtime.ts";

/** What sandboxd tells about a file. */
export interface FileInfo {
  readonly path: string;
  readonly name: string;
  readonly size: number;
  readonly type: "file" | "directory" | "symlink" | "fifo" | "socket" | "device";
  /** Four octal digits. */
  readonly mode: string;
  readonly uid: number;
  readonly gid: number;
  readonly modified_at: string;
  /** Of files: changes when the content may have changed. */
  readonly etag?: string;
  readonly target?: string;
  /** Extended attributes, without their prefix. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The last line of a listing that failed after it had begun. */
interface ListingError {
  readonly error: { readonly code: string; readonly message: string };
}

export interface FileEvent {
  readonly type: "ready" | "created" | "modified" | "attributes" | "deleted" | "overflow" | "keepalive";
  readonly path?: string;
}

const maxLineBytes = 1024 * 1024;

/** The files of one sandbox. `owner` is the user to whom new files belong; absent: the default user of the daemon. */
export class Files {
  readonly #runtime: Runtime;
  readonly #target: Target;
  readonly #signal: AbortSignal;
  readonly #owner: string | undefined;
  readonly #attributes: string;

  /** `attributes` is the prefix of the extended attributes that descriptions of files have. Default: none. */
  constructor(
    runtime: Runtime,
    target: Target,
    options: { readonly signal: AbortSignal; readonly owner?: string | undefined; readonly attributes?: string },
  ) {
    this.#runtime = runtime;
    this.#target = target;
    this.#signal = options.signal;
    this.#owner = options.owner;
    this.#attributes = options.attributes === undefined ? "" : `&attributes=${encodeURIComponent(options.attributes)}`;
  }

  stat(path: string, { follow }: { readonly follow: boolean }): Promise<FileInfo> {
    return callRest(this.#runtime, this.#target, {
      method: "GET",
      path: `/v1/stat${pathInUrl(path)}?follow=${follow}${this.#attributes}`,
      signal: this.#signal,
    });
  }

  /** Everything below a directory, down to a number of levels; 0 is no limit. */
  async *tree(path: string, depth: number): AsyncGenerator<FileInfo> {
    const answer = await this.#get(`/v1/tree${pathInUrl(path)}?depth=${depth}${this.#attributes}`);
    for await (const line of readJsonLines<FileInfo | ListingError>(answer, maxLineBytes)) {
      if ("error" in line) throw new RuntimeError(line.error.code, 500, line.error.message);
      yield line;
    }
  }

  async *watch(path: string, { recursive }: { readonly recursive: boolean }): AsyncGenerator<FileEvent> {
    const answer = await this.#get(`/v1/watch${pathInUrl(path)}?recursive=${recursive}&keepalive=${keepAliveSeconds}`);
    for await (const event of readJsonLines<FileEvent>(answer, maxLineBytes)) {
      if (event.type !== "keepalive") yield event;
    }
  }

  /** `mode` is four octal digits. */
  makeDirectory(path: string, mode?: string): Promise<void> {
    return this.#tell(`/v1/fs/mkdir${this.#query()}`, { path, ...(mode !== undefined && { mode }) });
  }

  changeMode(path: string, mode: string): Promise<void> {
    return this.#tell("/v1/fs/chmod", { path, mode });
  }

  /** Replaces the extended attributes with a prefix. */
  setAttributes(path: string, prefix: string, attributes: Readonly<Record<string, string>>): Promise<void> {
    return this.#tell("/v1/fs/attributes", { path, prefix, attributes });
  }

  move(from: string, to: string): Promise<void> {
    return this.#tell(`/v1/fs/move${this.#query()}`, { from, to, replace: true });
  }

  /** A directory only with its content, or if it is empty. */
  remove(path: string, { recursive = true }: { readonly recursive?: boolean } = {}): Promise<void> {
    const url = `/v1/files${pathInUrl(path)}?recursive=${recursive}`;
    return tellRest(this.#runtime, this.#target, url, { method: "DELETE", signal: this.#signal });
  }

  /** The query that names the owner of new files. */
  #query(): string {
    return this.#owner === undefined ? "" : `?user=${encodeURIComponent(this.#owner)}`;
  }

  #get(path: string): Promise<IncomingMessage> {
    return sendRest(this.#runtime, this.#target, { method: "GET", path, signal: this.#signal });
  }

  #tell(path: string, body: object): Promise<void> {
    return tellRest(this.#runtime, this.#target, path, { body, signal: this.#signal });
  }
}

/** The path of something below a directory, which the client may have named by a link: `real` is where the link leads. */
export function pathBelow(requested: string, real: string, path: string): string {
  const rest = path.startsWith(real) ? path.slice(real.length).replace(/^\/+/, "") : path;
  return `${requested.replace(/\/+$/, "")}/${rest}`;
}
