import { lstat, stat } from "node:fs/promises";
import { join, posix, resolve } from "node:path";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { type Connection, connect, type GlobalOptions } from "../client/connect.ts";
import { type CopySide, nameOf, parseSide } from "../client/copy-paths.ts";
import { runExec } from "../client/exec-channel.ts";
import { formatBytes } from "../client/format-amounts.ts";
import { openExec } from "../client/open-exec.ts";
import { printable } from "../client/printable.ts";
import { Progress } from "../client/progress.ts";
import { podOf, type SandboxPod } from "../client/sandbox-pod.ts";
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
  const session = new CopySession(connection, pod, options.container);
  const count: CopyCount = { files: 0, bytes: 0, skipped: [] };
  using progress = new Progress();
  const timer = setInterval(() => progress.show(`${count.files} files, ${formatBytes(count.bytes)}`), 200);
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
  if (from === "-") {
    await session.run(["sh", "-c", 'exec cat > "$1"', "sh", path], { stdin: process.stdin });
    return;
  }
  await lstat(from);
  const isInto = path.endsWith("/") || (await session.succeeds(["test", "-d", path]));
  const folder = isInto ? path : posix.dirname(path);
  const name = isInto ? nameOf(resolve(from)) : nameOf(path);
  await session.run(["tar", "-xf", "-", "-C", folder], { stdin: archiveOf(from, name, count) });
}

async function download(session: CopySession, path: string, to: string, count: CopyCount): Promise<void> {
  if (to === "-") {
    await session.run(["cat", path], { stdout: process.stdout });
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

/** Runs the programs of a copy in a Pod. */
class CopySession {
  readonly #connection: Connection;
  readonly #pod: SandboxPod;
  readonly #container: string | undefined;

  constructor(connection: Connection, pod: SandboxPod, container: string | undefined) {
    this.#connection = connection;
    this.#pod = pod;
    this.#container = container;
  }

  async succeeds(words: readonly string[]): Promise<boolean> {
    return (await this.#execute(words, {})).code === 0;
  }

  /** Throws what the program printed to standard error if it fails. */
  async run(
    words: readonly string[],
    streams: { readonly stdin?: Readable; readonly stdout?: Writable },
  ): Promise<void> {
    const { code, complaint } = await this.#execute(words, streams);
    if (code !== 0) throw new CommandError(`Cannot copy: ${complaint.trim() || `${words[0]} exited with ${code}`}`);
  }

  async #execute(
    words: readonly string[],
    { stdin, stdout }: { readonly stdin?: Readable; readonly stdout?: Writable },
  ): Promise<{ readonly code: number; readonly complaint: string }> {
    const stderr = new PassThrough();
    const complaint = buffer(stderr);
    const settings = { words, stdin: stdin !== undefined, container: this.#container };
    const socket = await openExec(this.#connection, this.#pod, settings);
    try {
      const code = await runExec(socket, { stdin, stdout: stdout ?? new PassThrough().resume(), stderr });
      stderr.end();
      return { code, complaint: (await complaint).toString("utf8").slice(0, 2000) };
    } finally {
      stderr.destroy();
    }
  }
}
