import type { Client } from "../client.ts";
import { type KubeObject, objectKey, parseKey } from "../resource.ts";
import type { Informer } from "./informer.ts";

/**
 * Reads one object from the server and applies it to the informer. It uses a list by name instead of a get, because a list
 * returns the server's version even if the object does not exist, and applies the informer's selectors. Servers answer it
 * with a single lookup. Returns the server's version.
 */
export async function readObject<T extends KubeObject>(
  client: Client,
  informer: Informer<T>,
  options: { readonly key: string; readonly signal?: AbortSignal | undefined },
): Promise<string> {
  const { name, namespace } = parseKey(options.key);
  const { fieldSelector, labelSelector } = informer.scope;
  const byName = `metadata.name=${name}`;
  const { items, resourceVersion } = await client.list(informer.resource, {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    fieldSelector: fieldSelector === undefined ? byName : `${byName},${fieldSelector}`,
  });
  const object = items.find((item) => objectKey(item) === options.key);
  informer.applyLiveRead([[options.key, object]], resourceVersion);
  return resourceVersion;
}

/** Reads all objects of a namespace, for writes whose object name is unknown. Returns the server's version. */
export async function readNamespace<T extends KubeObject>(
  client: Client,
  informer: Informer<T>,
  options: { readonly namespace: string | undefined; readonly signal?: AbortSignal | undefined },
): Promise<string> {
  const { namespace, signal } = options;
  const { namespace: _, ...selectors } = informer.scope;
  const { items, resourceVersion } = await client.list(informer.resource, {
    ...selectors,
    ...(namespace === undefined ? {} : { namespace }),
    ...(signal === undefined ? {} : { signal }),
  });
  const found = new Map<string, T | undefined>();
  for (const object of informer.list()) {
    if (object.metadata?.namespace === namespace) found.set(objectKey(object), undefined);
  }
  for (const item of items) found.set(objectKey(item), item);
  informer.applyLiveRead(found, resourceVersion);
  return resourceVersion;
}
