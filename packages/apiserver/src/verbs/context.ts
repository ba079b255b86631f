import type { Clock } from "../clock.ts";
import type { Registry } from "../resources/registry.ts";
import type { Store } from "../store/store.ts";

/** What every verb works with. */
export interface ApiContext {
  readonly store: Store;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly nodeName: string | undefined;
  /** Aborts when the server closes: watches end then. */
  readonly closing: AbortSignal;
}
