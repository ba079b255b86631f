import { type FSWatcher, watch } from "node:fs";
import { hasCode } from "../errors.ts";

/** Short enough to go unnoticed, and cheap. */
const pollEveryMs = 250;

/**
 * Calls back when something in a folder may have changed, with the name if it is known. The kernel limits inotify watches per
 * user, and root in a container without a user namespace is the same user as this process: when a sandbox has used up
 * all watches, the folder is polled.
 */
export function watchFolder(path: string, onChange: (name: string | undefined) => void): Disposable {
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  const poll = (): void => {
    timer ??= setInterval(() => onChange(undefined), pollEveryMs).unref();
  };
  try {
    watcher = watch(path, (_, name) => onChange(name ?? undefined));
    watcher.on("error", () => {
      onChange(undefined);
      poll();
    });
  } catch (error) {
    if (!hasCode(error, "EMFILE", "ENOSPC", "ENFILE")) throw error;
    poll();
  }
  return {
    [Symbol.dispose]: () => {
      watcher?.close();
      clearInterval(timer);
    },
  };
}
