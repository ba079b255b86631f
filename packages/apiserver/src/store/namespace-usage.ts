import type { Objects } from "./objects.ts";
import type { Stored } from "./store.ts";

/** The storage that one namespace uses. */
export interface Usage {
  readonly objects: number;
  /** Characters of JSON. */
  readonly bytes: number;
}

const none: Usage = { objects: 0, bytes: 0 };

/** Counts the storage that each namespace uses. Cluster-scoped objects are not counted. */
export class NamespaceUsage {
  readonly #byNamespace = new Map<string, Usage>();
  #bytes = 0;

  constructor(resources: Iterable<Objects> = []) {
    for (const objects of resources) {
      for (const [key, stored] of objects.entries("")) this.change(key, undefined, stored);
    }
  }

  /** The bytes of all namespaces. */
  get bytes(): number {
    return this.#bytes;
  }

  of(namespace: string): Usage {
    return this.#byNamespace.get(namespace) ?? none;
  }

  /** The usage of the key's namespace after this change; `undefined` for a cluster-scoped object. */
  after(key: string, before: Stored | undefined, stored: Stored | undefined): Usage | undefined {
    const namespace = namespaceOf(key);
    if (namespace === undefined) return undefined;
    const { objects, bytes } = this.of(namespace);
    const added = (stored === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    return { objects: objects + added, bytes: bytes + lengthOf(stored) - lengthOf(before) };
  }

  change(key: string, before: Stored | undefined, stored: Stored | undefined): void {
    const usage = this.after(key, before, stored);
    if (usage === undefined) return;
    this.#bytes += lengthOf(stored) - lengthOf(before);
    const namespace = namespaceOf(key) as string;
    if (usage.objects === 0) this.#byNamespace.delete(namespace);
    else this.#byNamespace.set(namespace, usage);
  }
}

const lengthOf = (stored: Stored | undefined): number => stored?.json.length ?? 0;

function namespaceOf(key: string): string | undefined {
  const slash = key.indexOf("/");
  return slash < 0 ? undefined : key.slice(0, slash);
}
