/**
 * States that the controller acts on only after they have held for some time:
 * - `quiet`: no activity and no change of the spec; `ready`: the same, with a Pod that has been ready all the time.
 * - `failed`: the Pod has failed and waits to be replaced.
 * - `drift`: the Pod's metadata differs from its template.
 * - `scheduled`: the Pod has a node and is not ready yet.
 * - `saving`: the state driver was asked to save the Pod and has not answered.
 * - `restoring`: the state driver was asked to restore the Pod and has not answered.
 * - `unreported`: a pool member whose status has not been written yet.
 */
export type Aspect = "quiet" | "ready" | "failed" | "drift" | "scheduled" | "saving" | "restoring" | "unreported";

/** The states that hold now, each with an identity: a new identity starts a new state. */
export type States = Readonly<Partial<Record<Aspect, string>>>;
/** For how many milliseconds each state has been observed to hold. */
export type Watched = Readonly<Partial<Record<Aspect, number>>>;

/** Since when each state has held, on a monotonic clock. */
export type Since = Readonly<Partial<Record<Aspect, { readonly identity: string; readonly at: number }>>>;

/**
 * How long the states have held, and what to remember. `now` is monotonic: no jump of the machine's clock makes anything happen
 * early, and only observed time counts. After a restart all states start again, so that the controller acts late, never early.
 */
export function watchStates(before: Since, states: States, now: number): { watched: Watched; since: Since } {
  const entries = Object.entries(states) as [Aspect, string][];
  const kept = entries.map(([aspect, identity]) => {
    const known = before[aspect];
    return [aspect, known?.identity === identity ? known : { identity, at: now }] as const;
  });
  return {
    watched: Object.fromEntries(kept.map(([aspect, { at }]) => [aspect, now - at])),
    since: Object.fromEntries(kept),
  };
}
