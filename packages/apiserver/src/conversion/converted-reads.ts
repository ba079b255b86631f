import type { WatchEvent } from "@agent-sandbox/kube";
import { ApiError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { ServedEvent } from "../request/api-request.ts";
import type { Query } from "../request/query.ts";
import type { Listed } from "../request/replies.ts";
import type { Target } from "../request/target.ts";
import type { ApiContext } from "../verbs/context.ts";
import { list } from "../verbs/list.ts";
import { watch } from "../verbs/watch.ts";

/** The same target in the version in which objects are stored. */
function asStored(target: Target): Target {
  const { definition } = target;
  const strategy = { ...definition.strategy, convert: (object: ApiObject) => object };
  return { ...target, definition: { ...definition, strategy } };
}

/** A list. If a webhook converts the kind, all items are converted in one call. */
export async function listConverted(context: ApiContext, target: Target, query: Query): Promise<Listed> {
  const { converter } = target.definition;
  if (converter === undefined) return list(context, target, query);
  const { items, metadata } = await list(context, asStored(target), query);
  return { items: await converter.convert(items, target.version.apiVersion, true), metadata };
}

/** Converts the objects in advance, so that they can be shown synchronously. */
export async function readyToShow({ definition, version }: Target, objects: readonly ApiObject[]): Promise<void> {
  await definition.converter?.convert(objects, version.apiVersion);
}

/** A watch whose pending events are converted together. A failed conversion ends the watch, as in Kubernetes. */
export function watchConverted(
  context: ApiContext,
  target: Target,
  query: Query,
  signal?: AbortSignal,
): AsyncIterable<readonly ServedEvent[]> {
  const { converter } = target.definition;
  if (converter === undefined) return watch(context, target, query, signal);
  const convert = (objects: readonly ApiObject[]): Promise<ApiObject[]> =>
    converter.convert(objects, target.version.apiVersion);
  return convertEvents(watch(context, asStored(target), query, signal), convert);
}

const carriesObject = ({ type }: WatchEvent): boolean => type !== "ERROR" && type !== "BOOKMARK";

async function* convertEvents(
  batches: AsyncIterable<readonly WatchEvent[]>,
  convert: (objects: readonly ApiObject[]) => Promise<ApiObject[]>,
): AsyncGenerator<readonly WatchEvent[]> {
  for await (const batch of batches) {
    try {
      const converted = await convert(batch.filter(carriesObject).map(({ object }) => object as ApiObject));
      let next = 0;
      yield batch.map(
        (event) => (carriesObject(event) ? { type: event.type, object: converted[next++] } : event) as WatchEvent,
      );
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      yield [{ type: "ERROR", object: error.toStatus() }];
      return;
    }
  }
}
