import type { CacheUpdate, Informer } from "../cache/informer.ts";
import type { EventRecord } from "../events/kube-event.ts";
import { type Scheduler, systemScheduler } from "../queue/scheduler.ts";
import type { KubeObject } from "../resource.ts";
import type { Reconciler } from "./controller.ts";
import { Memories } from "./memories.ts";
import { runPass } from "./run-pass.ts";
import type { Pass } from "./runner.ts";

/** What to do about one object now. */
export interface Decision<Action, Status, Memory> {
  /** Performed in order. */
  readonly actions: readonly Action[];
  /** Passed to the next decision about the same object. */
  readonly memory: Memory;
  /** The whole status; undefined leaves it as it is. */
  readonly status?: Status | undefined;
  /** Until then the status is not written, because a later pass may replace it. Default: it is written now. */
  readonly statusDueAt?: number | undefined;
  /** Recorded at once. An event that several decisions of a pass contain is recorded once. */
  readonly events?: readonly EventRecord[];
  /** When to reconcile again even if nothing changes. */
  readonly requeueAt?: number | undefined;
  /** Fails the pass after the status is written: what cannot be done, and cannot be reported in a status alone. */
  readonly error?: unknown;
}

/** What becomes of a pass after an action failed. */
export interface ActionFailure<Observed> {
  /** The observed state with the failure in it, for the status; undefined: no status is written in this pass. */
  readonly observed: Observed | undefined;
  /** Whether the pass fails and is retried. False when the same request would be refused again. */
  readonly retry: boolean;
}

/** The span of one pass. */
export interface PassSpan<Observed, Action> {
  /** Called before each action. */
  performing?(action: Action): void;
  /** Called when all actions of the pass have been performed. */
  performed?(before: Observed, after: Observed): void;
  end(error?: unknown): void;
}

/** The observed state as the pass uses it, which may now contain the context of the trace. */
export interface Traced<Observed, Action> {
  readonly observed: Observed;
  readonly span: PassSpan<Observed, Action> | undefined;
}

export interface ReconcilerOptions<
  T extends KubeObject,
  Observed,
  Action extends { readonly do: string },
  Status,
  Memory,
  D extends Decision<Action, Status, Memory> = Decision<Action, Status, Memory>,
> {
  readonly primary: Pick<Informer<T>, "get">;
  /** Called when the object is first observed. Undefined: the key has no object. */
  readonly initialMemory: (object: T | undefined) => Memory;
  /** Gathers plain data from caches. It changes and reserves nothing. Undefined: there is nothing to reconcile. */
  readonly observe: (key: string, pass: Pass) => Observed | undefined | Promise<Observed | undefined>;
  /** Pure and total: the same arguments give the same decision, whatever is in the object. `now` is a date. */
  readonly decide: (observed: Observed, memory: Memory, now: number) => D;
  /**
   * Performs one action, which must be safe to repeat, and returns what is observed after it. Returning the same object means that
   * only the caches can show the effect. Undefined: the server contradicts the caches, and the pass ends without a status.
   */
  readonly perform: (action: Action, observed: Observed, pass: Pass) => Promise<Observed | undefined>;
  /** Called at most once in a pass, last. Returns the object as the server has it, if it was written. Absent: no status. */
  readonly writeStatus?: (status: Status, observed: Observed, pass: Pass) => Promise<T | undefined>;
  /** Explains a failed action. Throws to end the pass at once, which is the default. */
  readonly failed?: (error: unknown, action: Action, observed: Observed) => ActionFailure<Observed>;
  /** When an action fails, the remaining actions of the same group are skipped. Default: all actions are one group. */
  readonly groupOf?: (action: Action) => string;
  /** Called for every decision, such as to count what it found. */
  readonly onDecision?: (decision: D, observed: Observed) => void;
  /** Called with the answer to the status write; returns what is remembered from then on. */
  readonly onWritten?: (answer: T, observed: Observed, memory: Memory) => Memory;
  /** Called once at the end of every pass, failed or not, with the actions that were attempted. */
  readonly finish?: (key: string, end: PassEnd<Observed, Action>) => void;
  /** Default: events are dropped. */
  readonly recordEvent?: (observed: Observed, event: EventRecord) => void;
  /** Begins the span of a pass. Default: nothing is traced. */
  readonly trace?: (observed: Observed, pass: Pass) => Traced<Observed, Action> | Promise<Traced<Observed, Action>>;
  /** Fields of the log line that reports a performed action. Default: actions are not logged. */
  readonly describe?: (action: Action) => object;
  /** How often a pass may decide and act before it must have settled. Default 4. */
  readonly maxRounds?: number;
  /**
   * When a round decides the same actions as the one before, their effect is still to come: the pass ends, and the key is requeued
   * after this time. Default: the actions are performed again.
   */
  readonly repeatAfterMs?: number;
  readonly scheduler?: Scheduler;
  /** Milliseconds since the epoch. Default: the scheduler's date. */
  readonly now?: () => number;
}

export interface PassEnd<Observed, Action> {
  /** As last known; undefined when there was nothing to reconcile. */
  readonly observed: Observed | undefined;
  readonly attempted: readonly Action[];
  readonly succeeded: boolean;
}

/**
 * The one way in which objects are reconciled: observe, then decide and perform until nothing is left to do, then write the status.
 * The engine owns what every controller needs besides: memory between passes, rounds, deferred status writes,
 * requeueing, events, tracing and logging (ADR 23).
 */
export function reconciler<
  T extends KubeObject,
  Observed,
  Action extends { readonly do: string },
  Status,
  Memory,
  D extends Decision<Action, Status, Memory> = Decision<Action, Status, Memory>,
>(options: ReconcilerOptions<T, Observed, Action, Status, Memory, D>): Reconciler<T> {
  const { primary, scheduler = systemScheduler, now = () => scheduler.date() } = options;
  const memories = new Memories<T, Memory>(options.initialMemory);
  return {
    follow: (update: CacheUpdate<T>) => memories.follow(update),
    reconcile: (key, pass) => {
      const object = primary.get(key);
      const memory = {
        get: () => memories.of(key, object),
        set: (value: Memory) => memories.set(key, object, value),
        drop: () => memories.delete(key),
      };
      return runPass({ ...options, scheduler, now }, { key, pass, memory });
    },
  };
}
