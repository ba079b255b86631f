import { type KubeObject, objectKey } from "../resource.ts";
import type { ServedResource } from "./api-call.ts";

/** A change of an object. `object` has the version of the change, also for a delete. */
export interface LogEntry {
  readonly version: number;
  readonly resource: ServedResource;
  readonly previous: KubeObject | undefined;
  readonly object: KubeObject;
  readonly gone: boolean;
}

/** A backup: all objects at a version. */
export interface Snapshot {
  readonly version: number;
  readonly objects: ReadonlyMap<ServedResource, ReadonlyMap<string, KubeObject>>;
}

/** The server's storage: the current objects and every change since the last compaction. */
export class ObjectLog {
  readonly #objects = new Map<ServedResource, Map<string, KubeObject>>();
  readonly #listeners = new Set<(entry: LogEntry) => void>();
  #entries: LogEntry[] = [];
  #version = 1;
  #compactedTo = 0;

  get version(): number {
    return this.#version;
  }

  /** Changes up to this version are dropped. */
  get compactedTo(): number {
    return this.#compactedTo;
  }

  get(resource: ServedResource, key: string): KubeObject | undefined {
    return this.#of(resource).get(key);
  }

  /** Sorted by key, as servers list objects. */
  list(resource: ServedResource): KubeObject[] {
    return [...this.#of(resource)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  *all(): Generator<[ServedResource, KubeObject], void, undefined> {
    for (const [resource, objects] of this.#objects) for (const object of objects.values()) yield [resource, object];
  }

  put(resource: ServedResource, object: KubeObject): KubeObject {
    const stamped = this.#stamp(object);
    const previous = this.get(resource, objectKey(stamped));
    this.#of(resource).set(objectKey(stamped), stamped);
    this.#append({ version: this.#version, resource, previous, object: stamped, gone: false });
    return stamped;
  }

  remove(resource: ServedResource, previous: KubeObject): KubeObject {
    const stamped = this.#stamp(previous);
    this.#of(resource).delete(objectKey(previous));
    this.#append({ version: this.#version, resource, previous, object: stamped, gone: true });
    return stamped;
  }

  since(version: number): readonly LogEntry[] {
    return this.#entries.filter((entry) => entry.version > version);
  }

  compact(): void {
    this.#compactedTo = this.#version;
    this.#entries = [];
  }

  snapshot(): Snapshot {
    const objects = new Map(Array.from(this.#objects, ([resource, all]) => [resource, new Map(all)]));
    return { version: this.#version, objects };
  }

  /** Restores a snapshot. Later versions will be used again. */
  restore({ version, objects }: Snapshot): void {
    this.#version = version;
    this.#objects.clear();
    for (const [resource, all] of objects) this.#objects.set(resource, new Map(all));
    this.compact();
  }

  listen(listener: (entry: LogEntry) => void): void {
    this.#listeners.add(listener);
  }

  #stamp(object: KubeObject): KubeObject {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    // Frozen, so that code that modifies shared objects fails in tests.
    return deepFreeze({ ...object, metadata });
  }

  #append(entry: LogEntry): void {
    this.#entries.push(entry);
    for (const listener of this.#listeners) listener(entry);
  }

  #of(resource: ServedResource): Map<string, KubeObject> {
    let objects = this.#objects.get(resource);
    if (objects === undefined) {
      objects = new Map();
      this.#objects.set(resource, objects);
    }
    return objects;
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
