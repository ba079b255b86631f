import { useEffect, useState, useSyncExternalStore } from "react";
import { type Polled, Poller } from "./poller.ts";

const everyMs = 4000;
/** Ten minutes. */
const mostReads = 150;

/** Reads while the component is shown. `read` must not change: give the component a key instead. */
export function usePolled<T>(read: (signal: AbortSignal) => Promise<T>): Polled<T> & { readonly refresh: () => void } {
  const [poller] = useState(() => new Poller(read, { everyMs, mostReads }));
  useEffect(() => poller.start(), [poller]);
  return { ...useSyncExternalStore(poller.subscribe, poller.snapshot), refresh: poller.refresh };
}
