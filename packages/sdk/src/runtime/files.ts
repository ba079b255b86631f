import type { CallOptions, Deadline } from "../deadline.ts";
import { isSandboxError, SandboxError } from "../errors.ts";
import { discard, type HttpBody, type HttpResponse, readAll, readText } from "../http/exchange.ts";
import { readJsonLines } from "../http/lines.ts";
import { readStream } from "../http/read-stream.ts";
import { type Operation, operate, operateStream } from "../telemetry/operation.ts";
import {
  entryOf,
  type FileChange,
  type FileEntry,
  type FileInfo,
  infoOf,
  type WireEntry,
  type WireInfo,
} from "./file-entry.ts";
import { encodePath } from "./file-path.ts";
import { callJson, callRest, keepAliveSeconds, type RestCall } from "./rest.ts";
import type { Router, Target } from "./router.ts";

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
const pageSize = 10_000;

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

  read(path: string, options: CallOptions & { readonly range?: ByteRange } = {}): Promise<Uint8Array<ArrayBuffer>> {
    const call = { doing: `Cannot read "${path}"`, options, defaultMs: transferTimeoutMs };
    return this.#operate("read", call, async (deadline) =>
      readAll((await this.#download(path, options.range, deadline)).body),
    );
  }

  /** The content as UTF-8. */
  async readText(path: string, options: CallOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /** The content in pieces. Ending the iteration early ends the transfer. */
  readStream(path: string, options: CallOptions & { readonly range?: ByteRange } = {}): AsyncGenerator<Uint8Array> {
    const call = { doing: `Cannot read "${path}"`, options, defaultMs: transferTimeoutMs };
    const download = (deadline: Deadline) => this.#download(path, options.range, deadline);
    return this.#operateStream("read", call, async function* (deadline) {
      yield* (await download(deadline)).body;
    });
  }

  /** Replaces a file at once: readers see the old or the new content. Creates parent directories. */
  write(path: string, content: FileContent, options: WriteOptions = {}): Promise<void> {
    const { mode, ifMatch, createOnly } = options;
    const headers = {
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
      ...(createOnly === true && { "if-none-match": "*" }),
    };
    // A repeated write with a condition would find its own effect.
    const isRepeatable = ifMatch === undefined && createOnly !== true;
    return this.#upload("write", { path, content, options }, { query: { mode }, headers, isRepeatable });
  }

  /** Adds to the end of a file, which is created if it does not exist. */
  append(path: string, content: FileContent, options: CallOptions = {}): Promise<void> {
    return this.#upload("append", { path, content, options }, { query: { append: true }, isRepeatable: false });
  }

  /** The entries of a directory, sorted by name. */
  list(path = ".", options: CallOptions = {}): Promise<FileEntry[]> {
    const doing = `Cannot list "${path}"`;
    return this.#operate("list", { doing, options }, async (deadline) => {
      const query = { limit: pageSize, after: undefined as string | undefined };
      const entries: FileEntry[] = [];
      for (;;) {
        const call = { doing, deadline, method: "GET", path: `/files/${encodePath(path)}`, query } as const;
        const response = await this.#rest(call);
        if (response.header("x-file-mode") !== undefined) {
          throw new SandboxError("InvalidArgument", `${doing}: it is not a directory`);
        }
        const { entries: page = [] } = JSON.parse(await readText(response.body)) as { entries?: WireEntry[] };
        entries.push(...page.map(entryOf));
        if (response.header("x-more-entries") !== "true") return entries;
        query.after = page.at(-1)?.name;
      }
    });
  }

  /** Everything below a directory, with paths. */
  tree(
    path = ".",
    options: CallOptions & { readonly depth?: number; readonly match?: string } = {},
  ): AsyncGenerator<FileEntry & { readonly path: string }> {
    const doing = `Cannot list "${path}"`;
    const query = { depth: options.depth, match: options.match };
    const open = (deadline: Deadline) =>
      this.#rest({ doing, deadline, method: "GET", path: `/tree/${encodePath(path)}`, query });
    const call = { doing, options, defaultMs: transferTimeoutMs };
    return this.#operateStream("tree", call, async function* (deadline) {
      for await (const line of readJsonLines<TreeLine>((await open(deadline)).body)) {
        if (line.error !== undefined) throw new SandboxError("Internal", `${doing}: ${line.error.message}`);
        yield { ...entryOf(line), path: line.path };
      }
    });
  }

  stat(path: string, options: CallOptions & { readonly followLinks?: boolean } = {}): Promise<FileInfo> {
    const doing = `Cannot stat "${path}"`;
    const query = { follow: options.followLinks === false ? false : undefined };
    return this.#operate("stat", { doing, options }, async (deadline) => {
      const call = { doing, deadline, method: "GET", path: `/stat/${encodePath(path)}`, query } as const;
      return infoOf(await callJson<WireInfo>(this.#router, this.#target, call));
    });
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
  remove(path: string, options: CallOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    const doing = `Cannot delete "${path}"`;
    const query = { recursive: options.recursive };
    return this.#operate("remove", { doing, options }, async (deadline) =>
      discard(await this.#rest({ doing, deadline, method: "DELETE", path: `/files/${encodePath(path)}`, query })),
    );
  }

  /** Creates a directory and its parents. */
  makeDir(path: string, options: CallOptions & { readonly mode?: string } = {}): Promise<void> {
    const doing = `Cannot create directory "${path}"`;
    return this.#action("makeDir", { doing, options }, { action: "mkdir", json: { path, mode: options.mode } });
  }

  move(from: string, to: string, options: CallOptions & { readonly replace?: boolean } = {}): Promise<void> {
    const json = { from, to, replace: options.replace };
    return this.#action("move", { doing: `Cannot move "${from}"`, options }, { action: "move", json });
  }

  copy(from: string, to: string, options: CallOptions & { readonly replace?: boolean } = {}): Promise<void> {
    const json = { from, to, replace: options.replace };
    return this.#action("copy", { doing: `Cannot copy "${from}"`, options }, { action: "copy", json });
  }

  chmod(path: string, mode: string, options: CallOptions & { readonly recursive?: boolean } = {}): Promise<void> {
    const json = { path, mode, recursive: options.recursive };
    return this.#action("chmod", { doing: `Cannot change the mode of "${path}"`, options }, { action: "chmod", json });
  }

  /** A directory as a tar archive. */
  readArchive(path: string, options: CallOptions & { readonly gzip?: boolean } = {}): AsyncGenerator<Uint8Array> {
    const doing = `Cannot read directory "${path}"`;
    const query = { gzip: options.gzip };
    const open = (deadline: Deadline) =>
      this.#rest({ doing, deadline, method: "GET", path: `/archive/${encodePath(path)}`, query });
    const call = { doing, options, defaultMs: transferTimeoutMs };
    return this.#operateStream("readArchive", call, async function* (deadline) {
      yield* (await open(deadline)).body;
    });
  }

  /** Unpacks a tar archive, compressed with gzip or not, into a directory. */
  writeArchive(path: string, archive: FileContent, options: CallOptions = {}): Promise<void> {
    const doing = `Cannot unpack into "${path}"`;
    return this.#operate("writeArchive", { doing, options, defaultMs: transferTimeoutMs }, async (deadline) => {
      const body = bodyOf(archive);
      await discard(await this.#rest({ doing, deadline, method: "PUT", path: `/archive/${encodePath(path)}`, body }));
    });
  }

  /** Changes below a path, until the iteration ends or the signal is aborted. The watch is in place when `onReady` is called. */
  watch(
    path: string,
    options: { readonly recursive?: boolean; readonly signal?: AbortSignal; readonly onReady?: () => void } = {},
  ): AsyncGenerator<FileChange> {
    const { recursive, signal, onReady } = options;
    const doing = `Cannot watch "${path}"`;
    const query = { recursive, keepalive: keepAliveSeconds };
    const open = (deadline: Deadline) =>
      this.#rest({ doing, deadline, method: "GET", path: `/watch/${encodePath(path)}`, query });
    return this.#operateStream("watch", { doing, options: { signal } }, async function* (deadline) {
      const response = await open(deadline);
      deadline.disarm();
      for await (const { type, path: changed = "" } of readJsonLines<{ type: string; path?: string }>(response.body)) {
        if (type === "ready") onReady?.();
        else if (type !== "keepalive") yield { type: type as FileChange["type"], path: changed };
      }
    });
  }

  #download(path: string, range: ByteRange | undefined, deadline: Deadline): Promise<HttpResponse> {
    const doing = `Cannot read "${path}"`;
    const headers: Record<string, string> =
      range === undefined ? {} : { range: `bytes=${range.first}-${range.last ?? ""}` };
    return this.#rest({ doing, deadline, method: "GET", path: `/files/${encodePath(path)}`, headers });
  }

  #upload(
    name: string,
    { path, content, options }: { path: string; content: FileContent; options: CallOptions },
    { headers, ...call }: Pick<RestCall, "query" | "headers" | "isRepeatable">,
  ): Promise<void> {
    const doing = `Cannot write "${path}"`;
    return this.#operate(name, { doing, options, defaultMs: transferTimeoutMs }, async (deadline) => {
      const put = {
        doing,
        deadline,
        method: "PUT",
        path: `/files/${encodePath(path)}`,
        body: bodyOf(content),
      } as const;
      const all = { "content-type": "application/octet-stream", ...headers };
      await discard(await this.#rest({ ...put, ...call, headers: all }));
    });
  }

  #action(name: string, call: OperationCall, { action, json }: { action: string; json: object }): Promise<void> {
    const { doing } = call;
    return this.#operate(name, { defaultMs: transferTimeoutMs, ...call }, async (deadline) => {
      await callJson(this.#router, this.#target, { doing, deadline, method: "POST", path: `/fs/${action}`, json });
    });
  }

  #rest(call: RestCall): Promise<HttpResponse> {
    return callRest(this.#router, this.#target, call);
  }

  #operate<T>(name: string, call: OperationCall, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    return operate(this.#router.tracing, this.#operation(name, call), work);
  }

  #operateStream<T>(
    name: string,
    call: OperationCall,
    work: (deadline: Deadline) => AsyncGenerator<T>,
  ): AsyncGenerator<T> {
    return operateStream(this.#router.tracing, this.#operation(name, call), work);
  }

  #operation(name: string, call: OperationCall): Operation {
    return { name: `files.${name}`, sandbox: this.#target, defaultMs: defaultTimeoutMs, ...call };
  }
}

type OperationCall = Pick<Operation, "doing" | "options"> & Partial<Pick<Operation, "defaultMs">>;

interface TreeLine extends WireEntry {
  readonly path: string;
  readonly error?: { readonly code: string; readonly message: string };
}

function bodyOf(content: FileContent): HttpBody {
  if (typeof content === "string") return content;
  if (content instanceof Uint8Array) return content as Uint8Array<ArrayBuffer>;
  return Symbol.asyncIterator in content ? content : readStream(content);
}
