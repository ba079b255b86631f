import type { CoreEvent } from "@agent-sandbox/api";

/** When an event last happened, whichever of the API's fields says it. Milliseconds. */
export function eventTime({ eventTime, lastTimestamp, series, metadata }: CoreEvent): number {
  const text = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata?.creationTimestamp;
  return Date.parse(text ?? "") || 0;
}

export function eventCount({ count, series }: CoreEvent): number {
  return series?.count ?? count ?? 1;
}
