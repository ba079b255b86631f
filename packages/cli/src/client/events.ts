import type { Connection } from "./connect.ts";
import { fetchJson } from "./discovery.ts";
import { formatAge } from "./format-amounts.ts";

export interface ListedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly object: string;
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly time: number;
}

interface CoreEvent {
  readonly metadata: { readonly creationTimestamp?: string };
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly uid?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

/** The events of a namespace that concern one of these names, the oldest first; without names, all. */
export async function listEvents(
  { transport, namespace }: Connection,
  names?: readonly string[],
): Promise<readonly ListedEvent[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  const { items } = (await fetchJson(transport, path)) as { readonly items: readonly CoreEvent[] };
  return items
    .filter(({ involvedObject }) => names === undefined || names.includes(involvedObject?.name ?? ""))
    .map(listed)
    .toSorted((a, b) => a.time - b.time);
}

/** What a starting Sandbox does now, as in `Pulling image "debian:12" (12s)`: the latest event of its Pod. */
export async function latestStep(connection: Connection, name: string): Promise<string | undefined> {
  const last = (await listEvents(connection, [name])).at(-1);
  return last && `${last.message} (${formatAge(Date.now() - last.time)})`;
}

function listed({ metadata, involvedObject, series, ...event }: CoreEvent): ListedEvent {
  const time = series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? metadata.creationTimestamp ?? "";
  return {
    type: event.type ?? "",
    reason: event.reason ?? "",
    message: (event.message ?? "").trim(),
    object: `${(involvedObject?.kind ?? "").toLowerCase()}/${involvedObject?.name ?? ""}`,
    count: series?.count ?? event.count ?? 1,
    time: Date.parse(time) || 0,
  };
}
