import type { Client } from "../client.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { KubeError } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { ChangeEvent } from "./batch.ts";
import { Follower, type State, type Step } from "./follower.ts";

/**
 * What a follower of one resource must conclude. `resourceVersion` is the server's version after the change: every
 * write up to it has been seen. `changes` without events is a bookmark: the version moved and nothing else.
 */
export type Change<T> =
  /** These objects exist and no others: what is known and not among them is gone. */
  | { readonly type: "reset"; readonly items: readonly T[]; readonly resourceVersion: string }
  | { readonly type: "changes"; readonly events: readonly ChangeEvent<T>[]; readonly resourceVersion: string };

/** Why the feed paused. It goes on by itself; this is for logs and metrics. */
export interface Trouble {
  readonly error: KubeError;
  /** Attempts that ended badly in a row. */
  readonly failures: number;
  readonly retryInMs: number;
}

export interface FollowOptions<T extends KubeObject> {
  /** Ends the feed. */
  readonly signal: AbortSignal;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Applied to every object as it arrives, so that what it drops is never held for a whole list. */
  readonly transform?: (object: T) => T;
  /** `stream` has the server send the current objects through the watch, where it can. Default `stream`. */
  readonly initial?: "stream" | "list";
  /** Objects per page of a list. Default 500. */
  readonly pageSize?: number;
  /** Default 90 s: servers send a bookmark about once a minute, so a longer silence is a dead connection. */
  readonly idleMs?: number;
  readonly onTrouble?: (trouble: Trouble) => void;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * A feed of one resource that heals itself and never ends before `signal` aborts: one `reset`, then `changes`, another
 * `reset` after a gap. It throws nothing: failures are told to `onTrouble` and tried again, slower each time.
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
