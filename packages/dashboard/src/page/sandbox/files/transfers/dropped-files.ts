/** The files that somebody dropped on the page, with the content of dropped folders. */
import { joinPath } from "../folder/file-path.ts";
import { mostTransfers } from "./transfers.ts";

export interface DroppedFile {
  readonly file: File;
  /** Relative to what was dropped, as in `photos/2026/a.png`. */
  readonly path: string;
}

/** It must be called in the event handler: afterwards the browser has emptied the transfer. */
export async function droppedFiles({ items, files }: DataTransfer): Promise<DroppedFile[]> {
  const plain = [...files];
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  // Files that are not on a disk, such as an image of another page, have no entries.
  return entries.length > 0 ? collect(entries) : plain.map((file) => ({ file, path: file.name }));
}

async function collect(entries: readonly FileSystemEntry[]): Promise<DroppedFile[]> {
  const found: DroppedFile[] = [];
  const waiting = entries.map((entry) => ({ entry, path: entry.name }));
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { entry, path } = next;
    if (entry.isFile) found.push({ file: await fileOf(entry as FileSystemFileEntry), path });
    else {
      const inside = await contentOf(entry as FileSystemDirectoryEntry);
      waiting.push(...inside.map((one) => ({ entry: one, path: joinPath(path, one.name) })));
    }
    if (found.length + waiting.length > mostTransfers) {
      throw new Error(`These are more than ${mostTransfers} files: use agent-sandbox cp`);
    }
  }
  return found;
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

async function contentOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // Each call returns at most a hundred.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0 || all.length > mostTransfers) return all;
    all.push(...some);
  }
}
