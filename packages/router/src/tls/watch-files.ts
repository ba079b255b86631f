import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

/** One change causes several events, which are handled together. */
const quietMs = 250;

/**
 * Calls `onChange` when one of the files has changed. Watches their directories, because files are replaced by renames and
 * those of a mounted Secret by changing a symbolic link next to them.
 */
export function watchFiles(files: readonly string[], onChange: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  let known = stateOf(files);
  const check = (): void => {
    timer = undefined;
    const state = stateOf(files);
    if (state === known) return;
    known = state;
    onChange();
  };
  // Further events do not postpone it, since other files of the directory may change all the time.
  const schedule = (): void => {
    timer ??= setTimeout(check, quietMs);
  };
  const watchers: FSWatcher[] = [...new Set(files.map((file) => dirname(file)))].map((folder) => {
    const watcher = watch(folder, { persistent: false }, schedule);
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

/** A text that changes when one of the files is replaced or modified. */
function stateOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found === undefined ? "gone" : `${found.ino} ${found.size} ${found.mtimeMs}`;
    })
    .join("\n");
}
