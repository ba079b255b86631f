import type { WatchEvent } from "@agent-sandbox/kube";
import type { ApiObject } from "../api-object.ts";

/** An object reduced to its metadata, as requested by garbage collectors and caches of clients. */
export function partialObject({ metadata }: Pick<ApiObject, "metadata">, apiVersion: string): ApiObject {
  return { kind: "PartialObjectMetadata", apiVersion, metadata };
}

interface ListLike {
  readonly items: readonly ApiObject[];
  readonly metadata: object;
}

interface PartialList {
  readonly items: readonly ApiObject[];
}

export function partialList({ items, metadata }: ListLike, apiVersion: string): PartialList {
  const partial = items.map((item) => partialObject(item, apiVersion));
  const list = { kind: "PartialObjectMetadataList", apiVersion, metadata, items: partial };
  return list;
}

export async function* partialEvents(
  events: AsyncIterable<readonly WatchEvent[]>,
  apiVersion: string,
): AsyncGenerator<readonly WatchEvent[]> {
  for await (const batch of events) {
    yield batch.map(({ type, object }): WatchEvent => {
      return type === "ERROR" ? { type, object } : { type, object: partialObject(object as ApiObject, apiVersion) };
    });
  }
}
