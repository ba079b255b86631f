import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Several events make one change: a rename of a link is seen as many. */
const quietMs = 250;

/**
 * Tells when one of the files has changed. Their folders are watched, not they: files are replaced by renames, and
 * those of a mounted Secret by swapping a link beside them.
 */
export function watchFiles(files: readonly string[], onChange: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  let known = marksOf(files);
  const look = (): void => {
    timer = undefined;
    const marks = marksOf(files);
    if (marks === known) return;
    known = marks;
    onChange();
  };
  // Not put off by the next event: others may write to the folder all the time.
  const later = (): void => {
    timer ??= setTimeout(look, quietMs);
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

/** Another when a file is another, or has another content. */
function marksOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found === undefined ? "gone" : `${found.ino} ${found.size} ${found.mtimeMs}`;
    })
    .join("\n");
}
