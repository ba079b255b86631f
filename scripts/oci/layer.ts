import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

/** A compressed layer of an image, in a file. */
export interface Layer {
  readonly file: string;
  /** Of the compressed file. */
  readonly digest: string;
  /** Of the tar archive. */
  readonly diffId: string;
  readonly sizeBytes: number;
  /** Of the tar archive. */
  readonly unpackedBytes: number;
}

export interface LayerSource {
  readonly root: string;
  /** Relative to `root`, in the order of the archive. Folders are added without their content. */
  readonly paths: readonly string[];
  /** In seconds since 1970. Files that are newer get this time. */
  readonly newest: number;
}

/** Writes a layer. The same files, times and order give the same bytes. */
export async function writeLayer({ root, paths, newest }: LayerSource, file: string): Promise<Layer> {
  const input = ["--directory", root, "--no-recursion", "--null", "--files-from=-", "--warning=no-file-ignored"];
  // The headers of the pax format would contain the time of the last access and the process id of tar.
  const headers = ["--format=posix", "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"];
  const fixed = ["--numeric-owner", `--mtime=@${newest}`, "--clamp-mtime"];
  const tar = spawn("tar", ["--create", "--file=-", ...headers, ...fixed, ...input], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = once(tar, "close") as Promise<[number | null]>;
  const messages: string[] = [];
  tar.stderr.on("data", (chunk: Buffer) => messages.push(chunk.toString("utf8")));
  tar.stdin.on("error", () => undefined).end(paths.map((path) => `${path}\0`).join(""));
  const [plain, packed] = [counted(), counted()];
  await pipeline(tar.stdout, plain.stream, createGzip({ level: 6 }), packed.stream, createWriteStream(file));
  const [status] = await ended;
  if (status !== 0) throw new Error(`Cannot make a layer of "${root}": tar ended with ${status}: ${messages.join("")}`);
  const [unpacked, compressed] = [plain.result(), packed.result()];
  return {
    file,
    digest: compressed.digest,
    diffId: unpacked.digest,
    sizeBytes: compressed.bytes,
    unpackedBytes: unpacked.bytes,
  };
}

function counted(): { stream: PassThrough; result(): { digest: string; bytes: number } } {
  const hash = createHash("sha256");
  const stream = new PassThrough();
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  return { stream, result: () => ({ digest: `sha256:${hash.digest("hex")}`, bytes }) };
}
