/** Reads the events of a watch, and applies them to the objects of a list. Pure: no connection and no clock. */
import { type KubeObject, keyOf } from "./resources.ts";

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** Splits text that arrives in pieces into JSON lines. */
export class LineReader {
  #rest = "";

  read(text: string): string[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.filter((line) => line !== "");
  }
}

/** What an event means for its watch: `relist` if the server no longer has the events since the last version. */
export type Effect = "changed" | "none" | "relist";

/** Changes the map. Objects that did not change keep their identity, so that their rows are not rendered again. */
export function applyEvent<T extends KubeObject>(objects: Map<string, T>, event: WatchEvent<T>): Effect {
  switch (event.type) {
    case "ADDED":
    case "MODIFIED": {
      const key = keyOf(event.object);
      const before = objects.get(key);
      if (before !== undefined && versionOf(before) === versionOf(event.object)) return "none";
      objects.set(key, event.object);
      return "changed";
    }
    case "DELETED":
      return objects.delete(keyOf(event.object)) ? "changed" : "none";
    case "ERROR":
      return "relist";
    default:
      return "none";
  }
}

/** Replaces all objects by those of a list. Objects of the same version keep their identity. */
export function applyList<T extends KubeObject>(objects: Map<string, T>, items: readonly T[]): void {
  const before = new Map(objects);
  objects.clear();
  for (const item of items) {
    const key = keyOf(item);
    const old = before.get(key);
    objects.set(key, old !== undefined && versionOf(old) === versionOf(item) ? old : item);
  }
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata?.uid ?? ""} ${metadata?.resourceVersion ?? ""}`;
}
