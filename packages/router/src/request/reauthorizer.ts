import { isRefusal } from "../auth/authorizer.ts";
import { Deadlines, type Timed } from "../deadlines.ts";
import type { Cancellation } from "./cancellation.ts";

/** How often the access of open requests is checked again. Cached answers of the API server delay this further. */
export const defaultRecheckMs = 30_000;
/** Checks are late by at most a tenth of the interval. */
const stepsPerCheck = 10;

/** Throws or rejects if access is refused. */
export type Check = () => unknown;

/**
 * Checks the access of long requests again at intervals, so that a download, a WebSocket or a tunnel ends soon after its
 * token expires or its user loses access. While the API server cannot be reached, they continue.
 */
export class Reauthorizer implements Disposable {
  readonly #everyMs: number;
  readonly #deadlines: Deadlines;

  constructor(everyMs: number = defaultRecheckMs) {
    this.#everyMs = everyMs;
    this.#deadlines = new Deadlines(everyMs / stepsPerCheck);
  }

  /** Cancels the request when `check` refuses, until disposed. */
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
