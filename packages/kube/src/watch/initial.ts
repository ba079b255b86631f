import { type KubeObject, objectKey } from "../resource.ts";
import { readBatch } from "./batch.ts";
import type { GuardedWatch } from "./guarded-watch.ts";

export interface Initial<T> {
  readonly items: readonly T[];
  readonly version: string;
}

/**
 * Collects the initial objects of a watch with `sendInitialEvents`. Changes may be mixed in before the bookmark that ends
 * them. Undefined if the server ignored the option: it closes the watch, or sends an ordinary bookmark, first.
 */
export async function collectInitial<T extends KubeObject>(
  watch: GuardedWatch<T>,
  transform: ((object: T) => T) | undefined,
): Promise<Initial<T> | undefined> {
  const items = new Map<string, T>();
  let version = "";
  for (;;) {
    const raw = await watch.next();
    if (raw === undefined) return undefined;
    const batch = readBatch(raw, version, transform);
    version = batch.version;
    for (const { type, object } of batch.events) {
      if (type === "upsert") items.set(objectKey(object), object);
      else items.delete(objectKey(object));
    }
    if (batch.initialEnd) return { items: [...items.values()], version };
    if (batch.error) throw batch.error;
    if (batch.bookmark) return undefined;
  }
}
