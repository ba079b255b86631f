import type { EventRecord } from "../events/kube-event.ts";
import type { Scheduler } from "../queue/scheduler.ts";
import type { KubeObject } from "../resource.ts";
import { deferStatus } from "./defer-status.ts";
import type { Decision, PassSpan, ReconcilerOptions } from "./reconciler.ts";
import type { Pass, Result } from "./runner.ts";

const defaultMaxRounds = 4;

type Named = { readonly do: string };

type Engine<T extends KubeObject, O, A extends Named, S, M, D extends Decision<A, S, M>> = ReconcilerOptions<
  T,
  O,
  A,
  S,
  M,
  D
> & {
  readonly scheduler: Scheduler;
  readonly now: () => number;
};

interface Subject<M> {
  readonly key: string;
  readonly pass: Pass;
  readonly memory: { readonly get: () => M; readonly set: (memory: M) => void; readonly drop: () => void };
}

/** A decision with the time it was made at: by the date, and by the clock that never jumps. */
interface Decided<A, S, M> {
  readonly decision: Decision<A, S, M>;
  readonly date: number;
  readonly at: number;
}

/** Runs one pass over one key. */
export async function runPass<T extends KubeObject, O, A extends Named, S, M, D extends Decision<A, S, M>>(
  engine: Engine<T, O, A, S, M, D>,
  subject: Subject<M>,
): Promise<Result | undefined> {
  const run = new PassRun(engine, subject);
  let succeeded = false;
  try {
    const result = await run.run();
    succeeded = true;
    return result;
  } finally {
    engine.finish?.(subject.key, { observed: run.observed, attempted: run.attempted, succeeded });
  }
}

class PassRun<T extends KubeObject, O, A extends Named, S, M, D extends Decision<A, S, M>> {
  readonly attempted: A[] = [];
  observed: O | undefined;
  readonly #engine: Engine<T, O, A, S, M, D>;
  readonly #subject: Subject<M>;
  readonly #recorded = new Set<string>();
  /** Errors that fail the pass, in the order they occurred. */
  readonly #errors: unknown[] = [];
  #hasFailed = false;
  /** Whether the status must not be written, because nothing certain is known. */
  #isSilent = false;

  constructor(engine: Engine<T, O, A, S, M, D>, subject: Subject<M>) {
    this.#engine = engine;
    this.#subject = subject;
  }

  async run(): Promise<Result | undefined> {
    const { observe, trace } = this.#engine;
    const { key, pass, memory } = this.#subject;
    const seen = await observe(key, pass);
    if (seen === undefined) {
      memory.drop();
      return undefined;
    }
    this.observed = seen;
    const { observed, span } = (await trace?.(seen, pass)) ?? { observed: seen, span: undefined };
    this.observed = observed;
    try {
      const result = await this.#reconcile(observed, span);
      span?.end();
      return result;
    } catch (error) {
      span?.end(error);
      throw error;
    }
  }

  async #reconcile(before: O, span: PassSpan<O, A> | undefined): Promise<Result | undefined> {
    const last = await this.#act(before, span);
    const { observed: after = before } = this;
    span?.performed?.(before, after);
    if (last === undefined) return undefined;
    if (this.#isSilent) throw this.#errors[0];
    const requeueAt = await this.#report(last, after);
    this.#throwFirst(last);
    return requeueAt === undefined ? undefined : { requeueAfterMs: this.#delayUntil(requeueAt, last) };
  }

  /** Decides and performs until nothing is left to do. Undefined: the server contradicts the caches. */
  async #act(before: O, span: PassSpan<O, A> | undefined): Promise<Decided<A, S, M> | undefined> {
    const { maxRounds = defaultMaxRounds, repeatAfterMs } = this.#engine;
    let observed = before;
    let last = "";
    for (let round = 1; ; round++) {
      const decided = this.#decide(observed);
      const { actions, memory } = decided.decision;
      if (repeatAfterMs !== undefined && actions.length > 0) {
        const wanted = JSON.stringify(actions);
        if (wanted === last) {
          return { ...decided, decision: { actions: [], memory, requeueAt: decided.date + repeatAfterMs } };
        }
        last = wanted;
      }
      // After a failure the pass only reports: its retry observes first.
      if (actions.length === 0 || this.#hasFailed || round > maxRounds) return decided;
      const after = await this.#performAll(actions, observed, span);
      if (after === undefined) return undefined;
      if (after === observed || this.#isSilent) return { ...decided, decision: { ...decided.decision, actions: [] } };
      observed = after;
    }
  }

  #decide(observed: O): Decided<A, S, M> {
    const { decide, now, scheduler, onDecision } = this.#engine;
    const { memory } = this.#subject;
    const [date, at] = [now(), scheduler.now()];
    const decision = decide(observed, memory.get(), date);
    memory.set(decision.memory);
    onDecision?.(decision, observed);
    for (const event of decision.events ?? []) this.#recordOnce(event, observed);
    return { decision, date, at };
  }

  async #performAll(actions: readonly A[], before: O, span: PassSpan<O, A> | undefined): Promise<O | undefined> {
    const { groupOf = () => "", perform, describe } = this.#engine;
    const { pass } = this.#subject;
    const failed = new Set<string>();
    let observed = before;
    for (const action of actions) {
      const group = groupOf(action);
      if (failed.has(group)) continue;
      span?.performing?.(action);
      this.attempted.push(action);
      try {
        const after = await perform(action, observed, pass);
        if (after === undefined) return undefined;
        observed = after;
        if (describe !== undefined) pass.log.info(describe(action), "action performed");
      } catch (error) {
        failed.add(group);
        observed = this.#fail(error, action, observed);
      }
      this.observed = observed;
    }
    return observed;
  }

  #fail(error: unknown, action: A, observed: O): O {
    const { failed } = this.#engine;
    if (failed === undefined) throw error;
    const failure = failed(error, action, observed);
    this.#hasFailed = true;
    if (failure.observed !== undefined) {
      if (failure.retry) this.#errors.push(error);
      return failure.observed;
    }
    this.#isSilent = true;
    // First: it explains why the pass wrote no status.
    this.#errors.unshift(error);
    return observed;
  }

  /** Writes the status, unless it can wait, and returns when to reconcile again. */
  async #report({ decision, date }: Decided<A, S, M>, observed: O): Promise<number | undefined> {
    const { status, requeueAt } = deferStatus(decision, date);
    if (status !== undefined) await this.#writeStatus(status, observed);
    return requeueAt;
  }

  async #writeStatus(status: S, observed: O): Promise<void> {
    const { writeStatus, onWritten } = this.#engine;
    const { pass, memory } = this.#subject;
    try {
      const answer = await writeStatus?.(status, observed, pass);
      if (answer !== undefined && onWritten !== undefined) memory.set(onWritten(answer, observed, memory.get()));
    } catch (error) {
      // The failure of an action explains more than that of the report on it.
      if (this.#errors.length === 0) throw error;
    }
  }

  #recordOnce(event: EventRecord, observed: O): void {
    const id = JSON.stringify(event);
    if (this.#recorded.has(id)) return;
    this.#recorded.add(id);
    this.#engine.recordEvent?.(observed, event);
  }

  #throwFirst({ decision }: Decided<A, S, M>): void {
    if (this.#errors.length > 0) throw this.#errors[0];
    if (decision.error !== undefined) throw decision.error;
    if (decision.actions.length > 0 && !this.#hasFailed) throw this.#unsettled(decision.actions);
  }

  /** Retried ever less often rather than endlessly: something undoes what the controller does. */
  #unsettled(actions: readonly A[]): Error {
    const { maxRounds = defaultMaxRounds, describe = ({ do: name }) => ({ do: name }) } = this.#engine;
    const wanted = JSON.stringify(actions.map(describe));
    return new Error(`Cannot settle "${this.#subject.key}": after ${maxRounds} rounds it still needs ${wanted}`);
  }

  #delayUntil(requeueAt: number, { date, at }: Decided<A, S, M>): number {
    const elapsedMs = this.#engine.scheduler.now() - at;
    return Math.max(0, requeueAt - date - elapsedMs);
  }
}
