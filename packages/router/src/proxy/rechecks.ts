import { isRefusal } from "../auth/authorizer.ts";
import { Deadlines, type Timed } from "../deadlines.ts";
import type { Cancellation } from "./cancellation.ts";

/** How often the right to what is open is looked at again. What the API server said counts for a while on top of it. */
export const defaultRecheckMs = 30_000;
/** A tenth of the time is exact enough. */
const stepsPerCheck = 10;

/** Throws, or rejects with, the refusal. */
export type Check = () => unknown;

/**
 * Requests and connections that last are authorised again from time to time: a download, a WebSocket or a tunnel ends soon
 * after its token, its user's right or its session does. As long as nobody can be asked they go on.
 */
export class Rechecks implements Disposable {
  readonly #everyMs: number;
  readonly #deadlines: Deadlines;

  constructor(everyMs: number = defaultRecheckMs) {
    this.#everyMs = everyMs;
    this.#deadlines = new Deadlines(everyMs / stepsPerCheck);
  }

  /** Cancels when `check` refuses. */
  watch(check: Check, cancellation: Cancellation): Disposable {
    const again = (): number => this.#deadlines.after(this.#everyMs);
    const open: Timed & { deadlineMs: number } = {
      deadlineMs: again(),
      onDeadline: () => {
        open.deadlineMs = Number.POSITIVE_INFINITY;
        void this.#cancelRefused(check, cancellation).finally(() => {
          open.deadlineMs = again();
        });
      },
    };
    this.#deadlines.watch(open);
    return { [Symbol.dispose]: () => this.#deadlines.forget(open) };
  }

  [Symbol.dispose](): void {
    this.#deadlines[Symbol.dispose]();
  }

  async #cancelRefused(check: Check, cancellation: Cancellation): Promise<void> {
    try {
      await check();
    } catch (error) {
      if (isRefusal(error)) cancellation.cancel(error);
    }
  }
}
