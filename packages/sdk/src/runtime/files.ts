import { type CallOptions, Deadline } from "../deadline.ts";
import { isSandboxError, SandboxError } from "../errors.ts";
import { discard, type HttpBody, type HttpResponse, readAll, readText } from "../http/exchange.ts";
import { readJsonLines } from "../http/lines.ts";
import { callJson, callRest, type RestCall } from "./rest.ts";
import type { Router, Target } from "./router.ts";

export type FileType = "file" | "directory" | "symlink" | "other";

export interface FileEntry {
  readonly name: string;
  readonly size: number;
  readonly type: FileType;
  /** As in `0644`. */
  readonly mode: string;
  readonly modifiedAt: Date;
}

export interface FileInfo extends FileEntry {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  /** Changes with the content. */
  readonly etag: string;
  /** Of a symbolic link. */
  readonly target?: string;
}

export interface FileChange {
  readonly type: "created" | "modified" | "attributes" | "deleted" | "overflow";
  readonly path: string;
}

/** Bytes `first` to `last`, both included. Without `last`: to the end. */
export interface ByteRange {
  readonly first: number;
  readonly last?: number;
}

export interface WriteOptions extends CallOptions {
  /** As in `0755`. Default: the mode of the existing file, or 0644. */
  readonly mode?: string;
  /** Writes only if the file still has this etag. `*` means that it must exist. */
  readonly ifMatch?: string;
  /** Fails if the file exists. */
  readonly createOnly?: boolean;
}

/** The content of a file. A stream can be sent only once, so a write of a stream is not repeated after a lost connection. */
export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

/** A transfer may take long. It ends when nothing moves for three minutes. */
const transferTimeoutMs = 24 * 3600 * 1000;
const defaultTimeoutMs = 60_000;

/**
 * Reads and writes files in a sandbox. Relative paths start at the root that the runtime serves.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host" });
 * await sandbox.files.write("notes/today.txt", "buy milk");
 * console.log((await sandbox.files.list("notes")).map(({ name, size }) => `${name} ${size}`));
 * console.log(await sandbox.files.readText("notes/today.txt"));
 * // Output: [ 'today.txt 8' ]
 * // buy milk
 * ```
 */
export class Files {
  readonly #router: Router;
  readonly #target: Target;

  constructor(router: Router, target: Target) {
    this.#router = router;
    this.#target = target;
  }

  async read(
    path: string,
    options: CallOptions & { readonly range?: ByteRange } = {},
  ): Promise<Uint8Array<ArrayBuffer>> {
    using deadline = new Deadline(options, transferTimeoutMs, `Cannot read "${path}"`);
    return readAll((await this.#download(path, options.range, deadline)).body);
  }

  /** The content as UTF-8. */
  async readText(path: string, options: CallOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /** The content in pieces. Ending the iteration early ends the transfer. */
  async *readStream(
    path: string,
    options: CallOptions & { readonly range?: ByteRange } = {},
  ): AsyncGenerator<Uint8Array> {
    using deadline = new Deadline(options, transferTimeoutMs, `Cannot read "${path}"`);
    yield* (await this.#download(path, options.range, deadline)).body;
  }

  /** Replaces a file at once: readers see the old or the new content. Creates parent directories. */
  async write(path: string, content: FileContent, options: WriteOptions = {}): Promise<void> {
    const { mode, ifMatch, createOnly } = options;
    const headers = {
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
      ...(createOnly === true && { "if-none-match": "*" }),
    };
    // A repeated write with a condition would find its own effect.
    const isRepeatable = ifMatch === undefined && createOnly !== true;
    await this.#upload(path, content, { options, query: { mode }, headers, isRepeatable });
  }

  /** Adds to the end of a file, which is created if it does not exist. */
  async append(path: string, content: FileContent, options: CallOptions = {}): Promise<void> {
    await this.#upload(path, content, { options, query: { append: true }, isRepeatable: false });
  }

  /** The entries of a directory, sorted by name. */
  async list(path = ".", options: CallOptions = {}): Promise<FileEntry[]> {
    const doing = `Cannot list "${path}"`;
    using deadline = new Deadline(options, defaultTimeoutMs, doing);
    const query = { limit: pageSize, after: undefined as string | undefined };
    const entries: FileEntry[] = [];
    for (;;) {
      const response = await this.#rest({ doing, deadline, method: "GET", path: `/files/${encodePath(path)}`, query });
      if (response.header("x-file-mode") !== undefined) {
        throw new SandboxError("InvalidArgument", `${doing}: it is not a directory`);
      }
      const { entries: page = [] } = JSON.parse(await readText(response.body)) as { entries?: WireEntry[] };
      entries.push(...page.map(entryOf));
      if (response.header("x-more-entries") !== "true") return entries;
      query.after = page.at(-1)?.name;
    }
  }

  /** Everything below a directory, with paths. */
  async *tree(
    path = ".",
    options: CallOptions & { readonly depth?: number; readonly match?: string } = {},
  ): AsyncGenerator<FileEntry & { readonly path: string }> {
    const doing = `Cannot list "${path}"`;
    using deadline = new Deadline(options, transferTimeoutMs, doing);
    const query = { depth: options.depth, match: options.match };
    const response = await this.#rest({ doing, deadline, method: "GET", path: `/tree/${encodePath(path)}`, query });
    for await (const line of readJsonLines<WireEntry & { path: string; error?: { code: string; message: string } }>(
      response.body,
    )) {
      if (line.error !== undefined) throw new SandboxError("Internal", `${doing}: ${line.error.message}`);
      yield { ...entryOf(line), path: line.path };
    }
  }

  async stat(path: string, options: CallOptions & { readonly followLinks?: boolean } = {}): Promise<FileInfo> {
    const doing = `Cannot stat "${path}"`;
    using deadline = new Deadline(options, defaultTimeoutMs, doing);
    const query = { follow: options.followLinks === false ? false : undefined };
    const info = await callJson<WireInfo>(this.#router, this.#target, {
      doing,
      deadline,
      method: "GET",
      path: `/stat/${encodePath(path)}`,
      query,
    });
    const { path: found, uid, gid, etag, target } = info;
    return { ...entryOf(info), path: found, uid, gid, etag, ...(target !== undefined && { target }) };
  }

  async exists(path: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (isSandboxError(error, "NotFound") && error.status === 404) return false;
      throw error;
    }
  }

  /** Deletes a file, a link or an empty directory; with `recursive` also a directory with its content. */
  async remove(path: string, options: CallOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    const doing = `Cannot delete "${path}"`;
    using deadline = new Deadline(options, defaultTimeoutMs, doing);
    const query = { recursive: options.recursive };
    await discard(await this.#rest({ doing, deadline, method: "DELETE", path: `/files/${encodePath(path)}`, query }));
  }

  /** Creates a directory and its parents. */
  makeDir(path: string, options: CallOptions & { readonly mode?: string } = {}): Promise<void> {
    return this.#action(`Cannot create directory "${path}"`, "mkdir", { path, mode: options.mode }, options);
  }

  move(from: string, to: string, options: CallOptions & { readonly replace?: boolean } = {}): Promise<void> {
    return this.#action(`Cannot move "${from}"`, "move", { from, to, replace: options.replace }, options);
  }

  copy(from: string, to: string, options: CallOptions & { readonly replace?: boolean } = {}): Promise<void> {
    return this.#action(`Cannot copy "${from}"`, "copy", { from, to, replace: options.replace }, options);
  }

  chmod(path: string, mode: string, options: CallOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    return this.#action(
      `Cannot change the mode of "${path}"`,
      "chmod",
      { path, mode, recursive: options.recursive },
      options,
    );
  }

  /** A directory as a tar archive. */
  async *readArchive(
    path: string,
    options: CallOptions & { readonly gzip?: boolean } = {},
  ): AsyncGenerator<Uint8Array> {
    const doing = `Cannot read directory "${path}"`;
    using deadline = new Deadline(options, transferTimeoutMs, doing);
    const query = { gzip: options.gzip };
    yield* (await this.#rest({ doing, deadline, method: "GET", path: `/archive/${encodePath(path)}`, query })).body;
  }

  /** Unpacks a tar archive, compressed with gzip or not, into a directory. */
  async writeArchive(path: string, archive: FileContent, options: CallOptions = {}): Promise<void> {
    const doing = `Cannot unpack into "${path}"`;
    using deadline = new Deadline(options, transferTimeoutMs, doing);
    await discard(
      await this.#rest({ doing, deadline, method: "PUT", path: `/archive/${encodePath(path)}`, body: bodyOf(archive) }),
    );
  }

  /** Changes below a path, until the iteration ends or the signal is aborted. The watch is in place when `onReady` is called. */
  async *watch(
    path: string,
    options: { readonly recursive?: boolean; readonly signal?: AbortSignal; readonly onReady?: () => void } = {},
  ): AsyncGenerator<FileChange> {
    const { recursive, signal, onReady } = options;
    const doing = `Cannot watch "${path}"`;
    using deadline = new Deadline({ signal }, defaultTimeoutMs, doing);
    const query = { recursive };
    const response = await this.#rest({ doing, deadline, method: "GET", path: `/watch/${encodePath(path)}`, query });
    deadline.disarm();
    for await (const { type, path: changed = "" } of readJsonLines<{ type: string; path?: string }>(response.body)) {
      if (type === "ready") onReady?.();
      else yield { type: type as FileChange["type"], path: changed };
    }
  }

  #download(path: string, range: ByteRange | undefined, deadline: Deadline): Promise<HttpResponse> {
    const headers: Record<string, string> =
      range === undefined ? {} : { range: `bytes=${range.first}-${range.last ?? ""}` };
    return this.#rest({
      doing: `Cannot read "${path}"`,
      deadline,
      method: "GET",
      path: `/files/${encodePath(path)}`,
      headers,
    });
  }

  async #upload(
    path: string,
    content: FileContent,
    { options, headers = {}, ...call }: Pick<RestCall, "query" | "headers" | "isRepeatable"> & { options: CallOptions },
  ): Promise<void> {
    const doing = `Cannot write "${path}"`;
    using deadline = new Deadline(options, transferTimeoutMs, doing);
    const all = { "content-type": "application/octet-stream", ...headers };
    const put = {
      doing,
      deadline,
      method: "PUT",
      path: `/files/${encodePath(path)}`,
      headers: all,
      body: bodyOf(content),
    } as const;
    await discard(await this.#rest({ ...put, ...call }));
  }

  async #action(doing: string, action: string, json: object, options: CallOptions): Promise<void> {
    using deadline = new Deadline(options, transferTimeoutMs, doing);
    await callJson(this.#router, this.#target, { doing, deadline, method: "POST", path: `/fs/${action}`, json });
  }

  #rest(call: RestCall): Promise<HttpResponse> {
    return callRest(this.#router, this.#target, call);
  }
}

const pageSize = 10_000;

interface WireEntry {
  readonly name: string;
  readonly size: number;
  readonly type: string;
  readonly mode: string;
  readonly modified_at: string;
}

interface WireInfo extends WireEntry {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly etag: string;
  readonly target?: string;
}

function entryOf({ name, size, type, mode, modified_at }: WireEntry): FileEntry {
  return { name, size, type: type as FileType, mode, modifiedAt: new Date(modified_at) };
}

/**
 * The path as part of a URL. HTTP clients resolve `.` and `..` themselves, so this does it first: a path that leaves the root must be
 * an error and not another file.
 */
export function encodePath(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") {
      if (names.pop() === undefined)
        throw new SandboxError("Forbidden", `Cannot use path "${path}": it leaves the root`);
    } else if (name !== "" && name !== ".") names.push(encodeURIComponent(name));
  }
  return names.join("/");
}

function bodyOf(content: FileContent): HttpBody {
  if (typeof content === "string") return content;
  if (content instanceof Uint8Array) return content as Uint8Array<ArrayBuffer>;
  if (Symbol.asyncIterator in content) return content;
  return readStream(content);
}

/** Safari has no asynchronous iterator for streams. */
async function* readStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}
