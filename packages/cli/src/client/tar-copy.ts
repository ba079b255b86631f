import { randomBytes } from "node:crypto";
import { constants, createReadStream, rmSync } from "node:fs";
import { lstat, mkdir, open, opendir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { getSystemErrorMessage } from "node:util";
import { extract, pack } from "tar-stream";
import { CommandError } from "../command-error.ts";
import { insideOf } from "./copy-paths.ts";
import { undoOnSignal } from "./undo-on-signal.ts";

/** What a copy has done so far. */
export interface CopyCount {
  files: number;
  bytes: number;
  /** Links, devices and other entries that are not copied, and names that would leave the destination. */
  skipped: string[];
}

/** A tar archive with a local file or folder, whose first part of the names is `name`. */
export function archiveOf(source: string, name: string, count: CopyCount): Readable {
  const archive = pack();
  const add = async (path: string, inside: string): Promise<void> => {
    const found = await lstat(path);
    const header = { name: inside, mode: found.mode & 0o777, mtime: found.mtime };
    if (found.isDirectory()) {
      archive.entry({ ...header, type: "directory" });
      for await (const child of await opendir(path)) await add(join(path, child.name), `${inside}/${child.name}`);
    } else if (found.isFile()) {
      // The size is that of the header, also if the file grows meanwhile.
      const entry = archive.entry({ ...header, type: "file", size: found.size });
      if (found.size > 0) await pipeline(createReadStream(path, { end: found.size - 1 }), entry);
      else entry.end(undefined);
      count.files += 1;
      count.bytes += found.size;
    } else {
      count.skipped.push(inside);
    }
  };
  add(source, name).then(
    () => archive.finalize(),
    (error: unknown) => archive.destroy(error as Error),
  );
  return Readable.from(archive);
}

/**
 * Writes the files and folders of an archive that a sandbox sends. The sandbox chooses the names and types: only regular files and
 * folders below `root` are written, and no link is made, so that nothing outside the destination can be reached.
 */
export async function unpackTo(archive: Readable, root: string, destination: string, count: CopyCount): Promise<void> {
  const entries = extract();
  archive.on("error", (error) => entries.destroy(error));
  archive.pipe(entries);
  for await (const entry of entries) {
    const { name, type, mode } = entry.header;
    const inside = insideOf(name, root);
    const target = inside === undefined ? undefined : join(destination, inside);
    if (target !== undefined && type === "directory") {
      await mkdir(target, { recursive: true });
    } else if (target !== undefined && type === "file") {
      await mkdir(dirname(target), { recursive: true });
      await writeEntry(target, entry, { mode: mode & 0o777, count });
      count.files += 1;
      continue;
    } else {
      count.skipped.push(name);
    }
    entry.resume();
  }
}

/** Writes a file. Until it is complete, a file that was there before stays. */
async function writeEntry(
  target: string,
  content: AsyncIterable<unknown>,
  { mode, count }: { readonly mode: number; readonly count: CopyCount },
): Promise<void> {
  const before = await lstat(target).catch(() => undefined);
  // A device or a pipe is written to, not replaced. Links are refused.
  const isReplaced = before === undefined || before.isFile();
  const path = isReplaced ? `${target}.${randomBytes(4).toString("hex")}.partial` : target;
  const flags = isReplaced
    ? constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
    : constants.O_WRONLY | constants.O_NOFOLLOW;
  using _undo = undoOnSignal(() => {
    if (isReplaced) rmSync(path, { force: true });
  });
  try {
    await using file = await open(path, flags, mode);
    for await (const chunk of content) {
      await file.writeFile(chunk as Buffer);
      count.bytes += (chunk as Buffer).length;
    }
    if (isReplaced) await rename(path, target);
  } catch (error) {
    if (isReplaced) await rm(path, { force: true });
    throw new CommandError(`Cannot write "${target}": ${sayWhy(error)}`, { cause: error });
  }
}

/** The reason without the call and path that Node's messages repeat. */
function sayWhy(error: unknown): string {
  const { errno } = error as NodeJS.ErrnoException;
  return typeof errno === "number" ? getSystemErrorMessage(errno) : String(error);
}
