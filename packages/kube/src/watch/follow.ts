import type { Client } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { KubeError } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { ChangeEvent } from "./batch.ts";
import { Follower, type State, type Step } from "./follower.ts";

/**
 * A change of one resource. After it, everything up to `resourceVersion` has been delivered. `changes` without events is
 * a bookmark: only the version moved.
 */
export type Change<T> =
  /** The complete list of objects. Objects that are not in it no longer exist. */
  | { readonly type: "reset"; readonly items: readonly T[]; readonly resourceVersion: string }
  | { readonly type: "changes"; readonly events: readonly ChangeEvent<T>[]; readonly resourceVersion: string };

/** Why the feed is interrupted. It continues by itself; this is for logs and metrics. */
export interface Trouble {
  readonly error: KubeError;
  /** Consecutive failed attempts. */
  readonly failures: number;
  readonly retryInMs: number;
  /** The connection was silent for too long and is replaced. This is normal where servers send no bookmarks. */
  readonly silent: boolean;
}

export interface FollowOptions<T extends KubeObject> {
  /** Ends the feed. */
  readonly signal: AbortSignal;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Applied to each object as it arrives, so that a whole untransformed list is never in memory. */
  readonly transform?: (object: T) => T;
  /**
   * `stream` asks the server to send the current objects through the watch (KEP-3157), and falls back to a list. Default
   * `stream`.
   */
  readonly initial?: "stream" | "list";
  /** Objects per page of a list. Default 500. */
  readonly pageSize?: number;
  /** How long a watch may be silent. Default 90 s: servers send a bookmark about once a minute. */
  readonly idleMs?: number;
  readonly onTrouble?: (trouble: Trouble) => void;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * An endless list-watch of one resource: one `reset`, then `changes`, and another `reset` after a gap. It ends when `signal`
 * aborts and never throws: failures are passed to `onTrouble` and retried with backoff.
 */
export async function* followResource<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  options: FollowOptions<T>,
): AsyncGenerator<Change<T>, void, undefined> {
  const { signal, clock = systemClock } = options;
  const follower = new Follower(client, resource, options);
  let state: State<T> = { at: "empty", failures: 0 };
  try {
    while (!signal.aborted) {
      const { change, waitMs = 0, next }: Step<T> = await follower.step(state);
      state = next;
      if (signal.aborted) return;
      if (change) yield change;
      if (waitMs > 0) await clock.sleep(waitMs, signal);
    }
  } finally {
    if (state.at === "watching") state.watch.close();
  }
}
