import { constants } from "node:os";

const ending = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const undos = new Set<() => void>();

/**
 * Undoes something half-done if a signal ends this program before the result is disposed, for instance a file that is not complete.
 * `undo` is synchronous. The exit status is that of a shell: 128 and the number of the signal.
 */
export function undoOnSignal(undo: () => void): Disposable {
  if (undos.size === 0) for (const name of ending) process.on(name, endAll);
  undos.add(undo);
  return {
    [Symbol.dispose]() {
      undos.delete(undo);
      if (undos.size === 0) for (const name of ending) process.off(name, endAll);
    },
  };
}

function endAll(name: NodeJS.Signals): void {
  for (const undo of undos) undo();
  process.exit(128 + constants.signals[name]);
}
