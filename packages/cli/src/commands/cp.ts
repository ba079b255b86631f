import { randomBytes } from "node:crypto";
import { lstat, stat } from "node:fs/promises";
import { join, posix, resolve } from "node:path";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { type CopySide, nameOf, parseSide } from "../client/copy-paths.ts";
import { describeCount, progressOutput, standardStreams } from "../client/copy-progress.ts";
import { isOutput, runExec } from "../client/exec-channel.ts";
import { openExec } from "../client/open-exec.ts";
import { printable } from "../client/printable.ts";
import { Progress } from "../client/progress.ts";
import { podOf, type SandboxPod } from "../client/sandbox-pod.ts";
import { SignalForwarder } from "../client/signals.ts";
import { archiveOf, type CopyCount, unpackTo } from "../client/tar-copy.ts";
import { CommandError } from "../command-error.ts";

export interface CopyOptions extends GlobalOptions {
  readonly container?: string;
}

type SandboxSide = Extract<CopySide, { readonly type: "sandbox" }>;

/** Copies files and folders between this machine and a sandbox, through `tar` in the sandbox. */
export async function copy(from: string, to: string, options: CopyOptions): Promise<void> {
  const source = parseSide(from);
  const target = parseSide(to);
  if (source.type === target.type) {
    throw new CommandError("write one side as SANDBOX:PATH, as in: agent-sandbox cp data.csv work:/tmp/");
  }
  await using connection = await connect(options);
  const remote = (source.type === "sandbox" ? source : target) as SandboxSide;
  const pod = await podOf(connection, remote.sandbox, { wakes: true });
  await using signals = new SignalForwarder();
  const session = new CopySession({ connection, pod, container: options.container, interrupted: signals.interrupted });
  const count: CopyCount = { files: 0, bytes: 0, skipped: [] };
  const isStream = from === "-" || to === "-";
  using progress = new Progress(progressOutput(from, to, standardStreams()));
  const timer = setInterval(() => progress.show(describeCount(count, isStream)), 200);
  try {
    if (source.type === "sandbox") await download(session, source.path, to, count);
    else await upload(session, from, remote.path, count);
  } finally {
    clearInterval(timer);
  }
  for (const name of count.skipped)
    console.error(`Warning: not copied, because it is neither a file nor a folder: ${printable(name)}`);
}

async function upload(session: CopySession, from: string, path: string, count: CopyCount): Promise<void> {
  const isFolder = path.endsWith("/") || (await session.succeeds(["test", "-d", path]));
  if (from === "-") {
    if (isFolder)
      throw new CommandError(`Cannot write the standard input to "${path}": name the file, as in ${path}/data`);
    await session.replace(path, (partial) =>
      session.run(["sh", "-c", 'exec cat > "$1"', "sh", partial], { stdin: process.stdin, count }),
    );
    return;
  }
  const { isFile } = await kindOf(from);
  const folder = isFolder ? path : posix.dirname(path);
  const name = isFolder ? nameOf(resolve(from)) : nameOf(path);
  const unpack = (own: string): Promise<void> =>
    session.run(["tar", "-xf", "-", "-C", folder], { stdin: archiveOf(from, own, count) });
  if (isFile) await session.replace(posix.join(folder, name), (partial) => unpack(posix.basename(partial)));
  else await unpack(name);
}

async function kindOf(from: string): Promise<{ readonly isFile: boolean }> {
  return { isFile: (await lstat(from)).isFile() };
}

async function download(session: CopySession, path: string, to: string, count: CopyCount): Promise<void> {
  if (to === "-") {
    await session.run(["cat", path], { stdout: process.stdout, count });
    return;
  }
  const name = nameOf(path);
  const isInto = to.endsWith("/") || (await stat(to).catch(() => undefined))?.isDirectory() === true;
  const archive = new PassThrough();
  const unpacked = unpackTo(archive, name, isInto ? join(to, name) : to, count);
  const sent = session.run(["tar", "-cf", "-", "-C", posix.dirname(path), name], { stdout: archive });
  await Promise.all([
    sent.then(
      () => archive.end(),
      (error: unknown) => archive.destroy(error as Error),
    ),
    unpacked,
    sent,
  ]);
}

/** tar repeats in further lines that it failed. */
const firstLine = (text: string): string => text.trim().split("\n")[0] ?? "";

interface SessionParts {
  readonly connection: Connection;
  readonly pod: SandboxPod;
  readonly container: string | undefined;
  readonly interrupted: AbortSignal;
}

interface CopyStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  /** Counts the bytes of a stream that is not an archive. */
  readonly count?: CopyCount;
}

/** Runs the programs of a copy in a Pod. */
class CopySession {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  async succeeds(words: readonly string[]): Promise<boolean> {
    return (await this.#execute(words, {})).code === 0;
  }

  /** Throws what the program printed to standard error if it fails, or the reason of an interruption. */
  async run(words: readonly string[], streams: CopyStreams): Promise<void> {
    const { interrupted } = this.#parts;
    const { promise, reject } = Promise.withResolvers<never>();
    const ended = new AbortController();
    const end = (): void => {
      reject(interrupted.reason as Error);
      ended.abort();
    };
    interrupted.throwIfAborted();
    interrupted.addEventListener("abort", end, { once: true });
    try {
      const execution = this.#execute(words, streams, ended.signal);
      // It fails later than the interruption, when its connection has ended.
      execution.catch(() => undefined);
      const { code, complaint } = await Promise.race([execution, promise]);
      if (code !== 0)
        throw new CommandError(`Cannot copy: ${firstLine(complaint) || `${words[0]} exited with ${code}`}`);
    } finally {
      interrupted.removeEventListener("abort", end);
    }
  }

  /** Writes a file beside its place and moves it there when it is complete. Devices and pipes are written to. */
  async replace(path: string, write: (partial: string) => Promise<void>): Promise<void> {
    if (await this.succeeds(["sh", "-c", '[ -e "$1" ] && ! [ -f "$1" ]', "sh", path])) return write(path);
    const partial = `${path}.${randomBytes(4).toString("hex")}.partial`;
    try {
      await write(partial);
      await this.run(["mv", "-f", "--", partial, path], {});
    } catch (error) {
      await this.succeeds(["rm", "-f", "--", partial]).catch(() => false);
      throw error;
    }
  }

  async #execute(
    words: readonly string[],
    { stdin, stdout, count }: CopyStreams,
    ended?: AbortSignal,
  ): Promise<{ readonly code: number; readonly complaint: string }> {
    const { connection, pod, container } = this.#parts;
    const stderr = new PassThrough();
    const complaint = buffer(stderr);
    // It fails if the connection does.
    complaint.catch(() => undefined);
    const socket = await openExec(connection, pod, { words, stdin: stdin !== undefined, container });
    if (ended?.aborted === true) socket.terminate();
    ended?.addEventListener("abort", () => socket.terminate(), { once: true });
    if (count !== undefined) {
      const add = (bytes: number): void => void (count.bytes += bytes);
      stdin?.on("data", (chunk: Buffer) => add(chunk.length));
      // The first byte of a message names the stream.
      if (stdout !== undefined) socket.on("message", (data: Buffer) => add(isOutput(data) ? data.length - 1 : 0));
    }
    try {
      const code = await runExec(socket, { stdin, stdout: stdout ?? new PassThrough().resume(), stderr });
      stderr.end();
      return { code, complaint: (await complaint).toString("utf8").slice(0, 2000) };
    } finally {
      stderr.destroy();
    }
  }
}
