/**
 * Times. `RelativeTime` shows how long ago something was, and the exact time in its tooltip; all of them are updated by one timer.
 * `Time` shows the exact time, in the zone that the user chose.
 */
import { useSyncExternalStore } from "react";
import { usePreferences } from "../shell/preferences.tsx";
import { formatAge, formatTime } from "./format.ts";

const tickMs = 5000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The current time, which changes every few seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

interface RelativeTimeProps {
  readonly at: string | undefined;
  readonly suffix?: string;
  /** A sentence for the tooltip. */
  readonly note?: string;
}

export function RelativeTime({ at, suffix = "", note }: RelativeTimeProps) {
  const current = useNow();
  const { zone } = usePreferences();
  const ms = Date.parse(at ?? "");
  if (!Number.isFinite(ms)) return <span className="faint">–</span>;
  return (
    <time
      dateTime={new Date(ms).toISOString()}
      title={note === undefined ? formatTime(ms, zone) : `${formatTime(ms, zone)}. ${note}.`}
    >
      {formatAge(Math.max(current, Date.now()) - ms)}
      {suffix}
    </time>
  );
}

export function Time({ at }: { readonly at: string | number | undefined }) {
  const { zone } = usePreferences();
  const ms = typeof at === "number" ? at : Date.parse(at ?? "");
  if (!Number.isFinite(ms)) return <span className="faint">–</span>;
  return <time dateTime={new Date(ms).toISOString()}>{formatTime(ms, zone)}</time>;
}
