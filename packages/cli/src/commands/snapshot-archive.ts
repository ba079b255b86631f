import { once } from "node:events";
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { basename, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { sandboxSnapshots } from "@agent-sandbox/api";
import type { WebSocket } from "ws";
import { awaitObject } from "../client/await-object.ts";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { displayName } from "../client/discovery.ts";
import { formatBytes } from "../client/format-amounts.ts";
import { openSocket } from "../client/pod-socket.ts";
import { Progress } from "../client/progress.ts";
import { refusalOf, requestOptions } from "../client/raw-request.ts";
import { snapshotOutcome } from "../client/sandbox-state.ts";
import { undoOnSignal } from "../client/undo-on-signal.ts";
import { parseDuration } from "../client/wait-condition.ts";
import { CommandError } from "../command-error.ts";
import { describeSnapshot } from "./snapshot.ts";

export interface ExportOptions extends GlobalOptions {
  readonly output?: string;
}

const importProtocol = "v1.snapshot-import.agents.x-k8s.io";
/** Below the largest message that the server accepts. */
const pieceBytes = 1024 * 1024;

/** Writes the archive of a snapshot to a file, either completely or not at all, or to the standard output. */
export async function exportSnapshot(name: string, options: ExportOptions): Promise<void> {
  const { output = `${name}.snapshot.tar` } = options;
  if (output === "-" && process.stdout.isTTY) {
    throw new CommandError("Cannot write an archive to a terminal: use -o FILE, or redirect the output");
  }
  await using connection = await connect(options);
  const { url, ...request } = await requestOptions(
    connection.access,
    archivePath(connection.namespace, name, "export"),
  );
  const [response] = (await once(get(url, request), "response")) as [IncomingMessage];
  if (response.statusCode !== 200)
    throw new CommandError(`Cannot export snapshot "${name}": ${await refusalOf(response)}`);
  let bytes: number;
  try {
    using progress = new Progress();
    progress.show(`snapshot "${name}": computing checksums`);
    const counted = counting(response, (sum) => progress.show(`snapshot "${name}": ${formatBytes(sum)} exported`));
    bytes = output === "-" ? await toStdout(counted) : await toFile(counted, resolve(output));
  } catch (error) {
    const why =
      (error as { code?: string }).code === "ECONNRESET" ? "the server ended the connection" : (error as Error).message;
    throw new CommandError(`Cannot export snapshot "${name}": ${why}`, { cause: error });
  }
  console.error(
    `Exported ${displayName(sandboxSnapshots, name)} (${formatBytes(bytes)})${output === "-" ? "" : ` to ${output}`}. The archive contains everything that the sandbox knew: protect it like a password`,
  );
}

function archivePath(namespace: string, name: string, part: string): string {
  const { apiVersion, plural } = sandboxSnapshots;
  return `/apis/${apiVersion}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}/${part}`;
}

interface Counted extends AsyncIterable<Uint8Array> {
  readonly total: () => number;
}

function counting(content: AsyncIterable<Uint8Array>, show: (sum: number) => void): Counted {
  let sum = 0;
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of content) {
      sum += piece.length;
      show(sum);
      yield piece;
    }
  };
  return { total: () => sum, [Symbol.asyncIterator]: () => pieces() };
}

async function toStdout(content: Counted): Promise<number> {
  await pipeline(content, process.stdout, { end: false });
  return content.total();
}

async function toFile(content: Counted, path: string): Promise<number> {
  const partial = `${path}.partial-${process.pid}`;
  using _undo = undoOnSignal(() => rmSync(partial, { force: true }));
  try {
    await pipeline(content, createWriteStream(partial, { flags: "wx", mode: 0o600 }));
    await using file = await open(partial);
    await file.sync();
    await rename(partial, path);
    return content.total();
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

export interface ImportOptions extends GlobalOptions {
  readonly name?: string;
  readonly timeout: string;
}

/** Sends an archive to the server, and waits until the snapshot is ready. */
export async function importSnapshot(file: string, options: ImportOptions): Promise<void> {
  const name = options.name ?? nameFrom(file);
  const timeoutMs = parseDuration(options.timeout);
  const content = file === "-" ? process.stdin : createReadStream(file, { highWaterMark: pieceBytes });
  // Report a missing file before connecting.
  if (content !== process.stdin) await once(content, "open").catch((error: unknown) => cannotRead(file, error));
  await using connection = await connect(options);
  using progress = new Progress();
  await upload(connection, { name, content, progress });
  const shown = `snapshot "${name}"`;
  const status = await awaitObject(connection, {
    resource: sandboxSnapshots,
    name,
    shown,
    timeoutMs,
    progress,
    judge: snapshotOutcome,
  });
  const described = describeSnapshot({ ...(status && { status }) } as Parameters<typeof describeSnapshot>[0]);
  console.log(`${displayName(sandboxSnapshots, name)} imported (${described})`);
  const obstacle = status?.conditions?.find(({ type }) => type === "Restorable");
  if (obstacle !== undefined)
    console.error(`Warning: it cannot be restored here: ${obstacle.message} (${obstacle.reason})`);
}

function cannotRead(file: string, error: unknown): never {
  throw new CommandError(`Cannot read "${file}": ${(error as Error).message}`, { cause: error });
}

/** As in `before-upgrade` for `backups/before-upgrade.snapshot.tar`. */
export function nameFrom(file: string): string {
  const name = file === "-" ? "" : basename(file).replace(/(\.snapshot)?(\.tar)?$/, "");
  if (/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)) return name;
  throw new CommandError(`Cannot derive the name of the snapshot from "${file}": use --name`);
}

interface Upload {
  readonly name: string;
  readonly content: AsyncIterable<Uint8Array>;
  readonly progress: Progress;
}

async function upload({ access, namespace }: Connection, { name, content, progress }: Upload): Promise<void> {
  const socket = await openSocket(access, archivePath(namespace, name, "import"), importProtocol);
  const answer = answerOf(socket);
  // A refusal ends the upload early.
  const refused = new AbortController();
  void answer.catch(() => undefined).finally(() => refused.abort());
  let sum = 0;
  for await (const piece of piecesOf(content)) {
    if (refused.signal.aborted) break;
    await send(socket, piece);
    sum += piece.length;
    progress.show(`snapshot "${name}": ${formatBytes(sum)} sent`);
  }
  await send(socket, "end");
  progress.show(`snapshot "${name}": waiting for the server`);
  await answer;
}

async function* piecesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; at += pieceBytes) yield chunk.subarray(at, at + pieceBytes);
  }
}

/** Waits until the piece is on its way, so that little of the archive is in memory. A failure shows in the answer. */
function send(socket: WebSocket, piece: Uint8Array | string): Promise<void> {
  return new Promise((done) => socket.send(piece, () => done()));
}

async function answerOf(socket: WebSocket): Promise<void> {
  const { promise, resolve: done, reject } = Promise.withResolvers<void>();
  socket.on("error", reject);
  socket.on("close", () => reject(new CommandError("Cannot import the snapshot: the server ended the connection")));
  socket.on("message", (data: Buffer) => {
    const { status, reason, message } = JSON.parse(data.toString()) as Record<string, string>;
    if (status === "Success") done();
    else reject(new CommandError(`${message} (${reason})`));
  });
  try {
    await promise;
  } finally {
    socket.close();
  }
}
