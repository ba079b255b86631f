import { SandboxError } from "./errors.ts";

/** The options of every call. */
export interface CallOptions {
  /** The longest time that the whole call may take, with all retries. */
  readonly timeoutMs?: number;
  /** Cancels the call. It then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export interface DeadlineOptions extends CallOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The end of a call, for all the requests that it consists of. Dispose it when the call has ended. */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  /** Sent with each request of the call: the context of its trace. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #endsAt: number;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  /** `doing` is the beginning of the error message, for example `Cannot run the command`. */
  constructor({ timeoutMs, signal, headers = {} }: DeadlineOptions, defaultMs: number, doing: string) {
    this.headers = headers;
    const ms = timeoutMs ?? defaultMs;
    if (Number.isNaN(ms) || ms <= 0) {
      throw new SandboxError("InvalidArgument", `${doing}: timeoutMs is ${ms} instead of a positive number`);
    }
    this.#endsAt = Date.now() + ms;
    const own = new AbortController();
    this.signal = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
    if (ms > longestTimerMs) return;
    this.#timer = setTimeout(() => {
      own.abort(new SandboxError("TimedOut", `${doing}: it took longer than ${ms} ms`));
    }, ms);
    // In Node a timer would keep the process alive.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  get remainingMs(): number {
    return Math.max(0, this.#endsAt - Date.now());
  }

  /** Rejects with the reason of the signal if the deadline comes first. */
  async sleep(ms: number): Promise<void> {
    const { signal } = this;
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", end);
        resolve();
      }, ms);
      signal.addEventListener("abort", end, { once: true });
    });
  }

  /** Lets a stream that has been opened last longer than the deadline. */
  disarm(): void {
    clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    this.disarm();
  }
}

/** Timers with more milliseconds fire at once. */
const longestTimerMs = 2 ** 31 - 1;
