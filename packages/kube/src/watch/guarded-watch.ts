import type { Client, WatchOptions } from "../client.ts";
import type { Clock } from "../clock.ts";
import { KubeError } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { WatchEvent } from "../transport.ts";

/** A connection that delivers bytes but no complete event is closed after this many idle limits. */
const trickleFactor = 4;

export interface GuardOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/** An open watch that fails with `Interrupted` when the connection is silent for too long, as half-open connections are. */
export class GuardedWatch<T extends KubeObject> {
  readonly #events: AsyncIterator<readonly WatchEvent<T>[]>;
  readonly #connection: AbortController;
  readonly #options: GuardOptions;
  readonly #openedAt: number;
  /** How long the connection may be silent. A change takes effect with the next call of `next`. */
  idleMs: number;
  #hasReceived = false;
  #silence: KubeError | undefined;
  /** When the consumer began to wait and when bytes last arrived; absent while the consumer is busy. */
  #waiting: { readonly since: number; lifeAt: number } | undefined;

  private constructor(
    events: AsyncIterator<readonly WatchEvent<T>[]>,
    connection: AbortController,
    options: GuardOptions,
  ) {
    this.#events = events;
    this.#connection = connection;
    this.#options = options;
    this.idleMs = options.idleMs;
    this.#openedAt = options.clock.now();
    void this.#guard();
  }

  static async open<T extends KubeObject>(
    client: Client,
    what: { readonly resource: Resource<T>; readonly options: WatchOptions },
    guard: GuardOptions,
  ): Promise<GuardedWatch<T>> {
    const connection = new AbortController();
    const abort = (): void => connection.abort(guard.signal.reason);
    if (guard.signal.aborted) abort();
    guard.signal.addEventListener("abort", abort);
    // Remove the listener with the connection, or a long-lived signal collects one per reconnect.
    connection.signal.addEventListener("abort", () => guard.signal.removeEventListener("abort", abort));
    try {
      const events = await client.watch(what.resource, { ...what.options, signal: connection.signal });
      return new GuardedWatch(events[Symbol.asyncIterator](), connection, guard);
    } catch (error) {
      connection.abort();
      throw error;
    }
  }

  get livedMs(): number {
    return this.#options.clock.now() - this.#openedAt;
  }

  /** Whether the watch was closed because of silence. */
  get fellSilent(): boolean {
    return this.#silence !== undefined;
  }

  /** Whether any event has arrived, including bookmarks. */
  get hasReceived(): boolean {
    return this.#hasReceived;
  }

  /** The next events, or undefined when the server has closed the watch. */
  async next(): Promise<readonly WatchEvent<T>[] | undefined> {
    const now = this.#options.clock.now();
    const waiting = { since: now, lifeAt: now };
    this.#waiting = waiting;
    try {
      for (;;) {
        const result = await this.#events.next();
        if (this.#silence) throw this.#silence;
        if (result.done === true) return undefined;
        if (result.value.length > 0) {
          this.#hasReceived = true;
          return result.value;
        }
        waiting.lifeAt = this.#options.clock.now();
      }
    } catch (error) {
      throw this.#silence ?? error;
    } finally {
      this.#waiting = undefined;
    }
  }

  close(): void {
    this.#connection.abort();
  }

  async #guard(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#connection;
    while (!signal.aborted) {
      const { idleMs } = this;
      const now = clock.now();
      const { lifeAt, since } = this.#waiting ?? { lifeAt: now, since: now };
      const leftMs = Math.min(lifeAt + idleMs, since + trickleFactor * idleMs) - now;
      if (leftMs <= 0) {
        this.#silence = new KubeError(
          "Interrupted",
          `Cannot follow the watch: no event for ${Math.round(now - since)} ms`,
        );
        this.close();
        return;
      }
      await clock.sleep(leftMs, signal);
    }
  }
}
