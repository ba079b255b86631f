import { type Sandbox, sandboxes, type WakeBy, wakeChange } from "@agent-sandbox/api";
import { type Client, isReason, type Logger, objectKey, type Scheduler } from "@agent-sandbox/kube";
import { RouterError } from "../router-error.ts";

export interface WakerOptions {
  readonly client: Client;
  readonly scheduler: Scheduler;
  readonly log: Logger;
  /** Notifies the requests that wait for the Sandbox. */
  readonly notify: (key: string) => void;
  /** Called after each write that wakes a Sandbox. */
  readonly onWoken: (sandbox: Sandbox) => void;
}

interface Attempt {
  failure: RouterError | undefined;
  timer: Disposable | undefined;
}

/** If a Sandbox is still asleep this long after the write, the write is repeated. */
const wakeAgainMs = 10_000;
/** By then the cache has the newer object. */
const afterConflictMs = 50;
const afterFailureMs = 1000;
const callLimitMs = 5000;

/** Wakes Sandboxes, with one write for any number of waiting requests. */
export class Waker implements Disposable {
  readonly #options: WakerOptions;
  readonly #attempts = new Map<string, Attempt>();

  constructor(options: WakerOptions) {
    this.#options = options;
  }

  /** Wakes the Sandbox unless that is already in progress. Throws if the API server refused the write permanently. */
  wake(sandbox: Sandbox, by: WakeBy): void {
    const uid = sandbox.metadata.uid ?? "";
    const attempt = this.#attempts.get(uid);
    if (attempt?.failure !== undefined) throw attempt.failure;
    if (attempt !== undefined) return;
    const started: Attempt = { failure: undefined, timer: undefined };
    this.#attempts.set(uid, started);
    void this.#write(started, sandbox, by);
  }

  /** Call this when the Sandbox is awake. The next `wake` then writes again. */
  settled(uid: string): void {
    this.#attempts.get(uid)?.timer?.[Symbol.dispose]();
    this.#attempts.delete(uid);
  }

  [Symbol.dispose](): void {
    for (const uid of this.#attempts.keys()) this.settled(uid);
  }

  async #write(attempt: Attempt, sandbox: Sandbox, by: WakeBy): Promise<void> {
    const { client, scheduler, log, onWoken } = this.#options;
    const { name = "", namespace = "", uid = "" } = sandbox.metadata;
    try {
      const patch = { type: "merge", ...wakeChange(sandbox, by, scheduler.date()) } as const;
      await client.patch(sandboxes, { namespace, name }, patch, { signal: AbortSignal.timeout(callLimitMs) });
      log.info({ sandbox: objectKey(sandbox), by }, "sandbox woken by traffic");
      onWoken(sandbox);
      this.#lookAgain(uid, attempt, sandbox, wakeAgainMs);
    } catch (error) {
      // Another replica of the router has woken it, or something else has changed.
      const isNormal = isReason(error, "Conflict");
      const fields = { sandbox: objectKey(sandbox), err: error };
      if (isNormal) log.debug(fields, "sandbox changed before it was woken");
      else log.warn(fields, "sandbox not woken");
      this.#failed(uid, attempt, sandbox, error);
    }
  }

  /** Records a permanent refusal, or schedules a retry with the object that the cache has by then. */
  #failed(uid: string, attempt: Attempt, sandbox: Sandbox, error: unknown): void {
    if (isReason(error, "Forbidden", "Invalid", "BadRequest", "Unauthorized")) {
      const message = `Sandbox could not be resumed: ${sandbox.metadata.name}: the API server refused`;
      attempt.failure = new RouterError("WakeFailed", message, { cause: error, retryAfterSeconds: 5 });
      this.#options.notify(objectKey(sandbox));
    }
    this.#lookAgain(uid, attempt, sandbox, isReason(error, "Conflict") ? afterConflictMs : afterFailureMs);
  }

  #lookAgain(uid: string, attempt: Attempt, sandbox: Sandbox, delayMs: number): void {
    if (this.#attempts.get(uid) !== attempt) return;
    attempt.timer = this.#options.scheduler.schedule(delayMs, () => {
      this.#attempts.delete(uid);
      this.#options.notify(objectKey(sandbox));
    });
  }
}
