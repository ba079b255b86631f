import { constants, createReadStream } from "node:fs";
import { lstat, mkdir, open, opendir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, pack } from "tar-stream";
import { insideOf } from "./copy-paths.ts";

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
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
      await using file = await open(target, flags, mode & 0o777);
      for await (const chunk of entry) {
        const { length } = chunk as Buffer;
        await file.writeFile(chunk as Buffer);
        count.bytes += length;
      }
      count.files += 1;
      continue;
    } else {
      count.skipped.push(name);
    }
    entry.resume();
  }
}
