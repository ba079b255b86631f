import type { Client } from "../client.ts";
import { type KubeObject, objectKey, parseKey } from "../resource.ts";
import type { Informer } from "./informer.ts";

/**
 * Reads one object as it is now and shows it to the informer. A list, not a get: it tells the server's version also when
 * the object is not there, and the informer's own selectors apply. Servers answer it with a single lookup. Returns the
 * version the server was at.
 */
export async function lookAtObject<T extends KubeObject>(
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
  informer.observe([[options.key, object]], resourceVersion);
  return resourceVersion;
}

/** Reads everything in a namespace as it is now, for when not even the name of what was written is known. */
export async function lookAtNamespace<T extends KubeObject>(
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
  informer.observe(found, resourceVersion);
  return resourceVersion;
}
