import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

/** Several events make one change: a rename of a link is seen as many. */
const quietMs = 250;

/**
 * Tells when one of the files may have changed. Their folders are watched, not they: files are replaced by renames, and
 * those of a mounted Secret by swapping a link beside them.
 */
export function watchFiles(files: readonly string[], onChange: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const later = (): void => {
    clearTimeout(timer);
    timer = setTimeout(onChange, quietMs);
  };
  const watchers: FSWatcher[] = [...new Set(files.map((file) => dirname(file)))].map((folder) => {
    const watcher = watch(folder, { persistent: false }, later);
    watcher.on("error", () => undefined);
    return watcher;
  });
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
