import type { Readable, Writable } from "node:stream";
import { NodeError } from "../errors.ts";
import { runCommand } from "../system/run-command.ts";
import { startProgram } from "../system/start-program.ts";

const extractWithinMs = 10 * 60_000;
const extractOptions = [
  "--xattrs",
  "--xattrs-include=*",
  "--acls",
  "--numeric-owner",
  "--same-owner",
  "--same-permissions",
];

/** The content of a folder as a tar archive, with owners, attributes and links. Mounts below the folder are left out. */
export async function* tarTree(folder: string): AsyncGenerator<Uint8Array> {
  const options = ["--sparse", "--xattrs", "--xattrs-include=*", "--acls", "--numeric-owner", "--one-file-system"];
  const args = ["--create", "--format=posix", ...options, `--directory=${folder}`, "--file=-", "."];
  const { stdio, ended } = startProgram("tar", args, { stdio: ["ignore", "pipe", "pipe"] });
  const [, stdout, stderr] = stdio;
  const said = textOf(stderr);
  if (stdout !== undefined) yield* stdout as AsyncIterable<Uint8Array>;
  const { code } = await ended;
  if (code !== 0)
    throw new NodeError("NodeSetup", `Cannot archive "${folder}": ${(await said).trim() || `tar: ${code}`}`);
}

/** Replaces the content of a folder by that of an archive of `tarTree`. */
export async function untarTree(archive: string, folder: string): Promise<void> {
  await runCommand("find", [folder, "-xdev", "-mindepth", "1", "-delete"], { timeoutMs: extractWithinMs });
  await runCommand("tar", ["--extract", ...extractOptions, `--directory=${folder}`, `--file=${archive}`], {
    timeoutMs: extractWithinMs,
  });
}

/** Like `untarTree`, into an empty folder, with an archive that is not a file. The archive is always read to its end. */
export async function untarStream(archive: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  const args = ["--extract", ...extractOptions, `--directory=${folder}`, "--file=-"];
  const { stdio, ended } = startProgram("tar", args, { stdio: ["pipe", "ignore", "pipe"] });
  const [stdin, , stderr] = stdio;
  const said = textOf(stderr);
  if (stdin !== undefined) await feed(archive, stdin);
  const { code } = await ended;
  if (code !== 0)
    throw new NodeError("NodeSetup", `Cannot unpack into "${folder}": ${(await said).trim() || `tar: ${code}`}`);
}

/**
 * Unlike `pipeline`, this does not fail when the program ends before the stream has reported that everything was sent: the exit
 * code decides.
 */
async function feed(content: AsyncIterable<Uint8Array>, input: Writable): Promise<void> {
  const closed = new Promise<void>((resolve) => input.once("close", resolve));
  try {
    for await (const chunk of content) {
      if (input.destroyed || input.write(chunk)) continue;
      await Promise.race([closed, new Promise<void>((resolve) => input.once("drain", resolve))]);
    }
    input.end();
  } catch (error) {
    // The program sees the end of its input, and ends.
    input.destroy();
    throw error;
  }
}

async function textOf(stream: Readable | undefined): Promise<string> {
  let text = "";
  for await (const part of stream?.setEncoding("utf8") ?? []) if (text.length < 4096) text += String(part);
  return text;
}
