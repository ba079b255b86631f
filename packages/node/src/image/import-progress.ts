import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** How far an image is copied into the store. */
export type ImportProgress =
  | { readonly stage: "fetching"; readonly bytes: number }
  | { readonly stage: "unpacking"; readonly layer: number; readonly layers: number };

export type ReportProgress = (progress: ImportProgress) => void;

const lookEveryMs = 300;

/** Reports how much has been fetched into these folders until it is disposed. skopeo itself reports nothing without a terminal. */
export async function watchFetch(folders: readonly string[], report: ReportProgress): Promise<Disposable> {
  const before = await bytesIn(folders);
  const timer = setInterval(() => {
    void bytesIn(folders).then((now) => report({ stage: "fetching", bytes: Math.max(0, now - before) }));
  }, lookEveryMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** The sizes of all files. Files that are removed meanwhile do not count. */
export async function bytesIn(folders: readonly string[]): Promise<number> {
  const sizes = await Promise.all(
    folders.map(async (folder) => {
      const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
      const files = entries.filter((entry) => entry.isFile());
      return Promise.all(files.map(({ parentPath, name }) => sizeOf(join(parentPath, name))));
    }),
  );
  return sizes.flat().reduce((sum, size) => sum + size, 0);
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
