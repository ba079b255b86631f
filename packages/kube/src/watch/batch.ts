import { statusError } from "../client/status-error.ts";
import { KubeError } from "../errors.ts";
import type { KubeObject } from "../resource.ts";
import { laterVersion } from "../resource-version.ts";
import type { WatchEvent } from "../transport.ts";

export interface ChangeEvent<T> {
  readonly type: "upsert" | "delete";
  readonly object: T;
}

/** A parsed batch of watch events. Events after an error are ignored: a server sends none. */
export interface Batch<T> {
  readonly events: readonly ChangeEvent<T>[];
  /** The resource version after the last valid event. */
  readonly version: string;
  /** Whether the batch contains the bookmark that ends the initial events. */
  readonly initialEnd: boolean;
  /** Whether the batch contains any other bookmark. */
  readonly bookmark: boolean;
  readonly error?: KubeError;
}

const initialEventsEnd = "k8s.io/initial-events-end";

export function readBatch<T extends KubeObject>(
  raw: readonly WatchEvent<T>[],
  version: string,
  transform: ((object: T) => T) | undefined,
): Batch<T> {
  const events: ChangeEvent<T>[] = [];
  let initialEnd = false;
  let bookmark = false;
  for (const event of raw) {
    const error = errorOf(event);
    if (error) return { events, version, initialEnd, bookmark, error };
    const { metadata } = event.object;
    version = laterVersion(version, metadata?.resourceVersion);
    if (event.type === "BOOKMARK") {
      if (metadata?.annotations?.[initialEventsEnd] === "true") initialEnd = true;
      else bookmark = true;
    } else {
      const object = transform ? transform(event.object) : event.object;
      events.push({ type: event.type === "DELETED" ? "delete" : "upsert", object });
    }
  }
  return { events, version, initialEnd, bookmark };
}

function errorOf(event: WatchEvent): KubeError | undefined {
  switch (event.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return event.object?.metadata?.name && event.object.metadata.resourceVersion ? undefined : invalidEvent(event);
    case "BOOKMARK":
      return event.object?.metadata?.resourceVersion ? undefined : invalidEvent(event);
    case "ERROR":
      return statusError("follow the watch", { status: 200, headers: {}, body: event.object });
    default:
      return invalidEvent(event);
  }
}

function invalidEvent(event: unknown): KubeError {
  const shown = JSON.stringify(event)?.slice(0, 200);
  return new KubeError(
    "InvalidResponse",
    `Cannot follow the watch: the server sent ${shown}, which is not a watch event`,
  );
}
