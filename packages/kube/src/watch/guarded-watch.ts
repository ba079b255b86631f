import type { Client, WatchOptions } from "../client.ts";
import type { Clock } from "../clock.ts";
import { KubeError } from "../errors.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { WatchEvent } from "../transport.ts";

/** A server that trickles bytes but completes no event is given this many idle bounds before it counts as silent. */
const trickleFactor = 4;

export interface GuardOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/** One open watch that cannot fall silent for good: half-open connections end as `Interrupted`. */
export class GuardedWatch<T extends KubeObject> {
  readonly #events: AsyncIterator<readonly WatchEvent<T>[]>;
  readonly #connection: AbortController;
  readonly #options: GuardOptions;
  readonly #openedAt: number;
  /** The longest silence before the connection is taken for dead; a change counts from the next wait on. */
  idleMs: number;
  #heard = false;
  #silence: KubeError | undefined;
  /** When the consumer began to wait, and the last life seen since; absent while the consumer is busy. */
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
    // The connection's own end takes the listener off, or a long life would collect one per reconnect.
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

  /** Whether the guard ended it. */
  get fellSilent(): boolean {
    return this.#silence !== undefined;
  }

  /** Whether any event came, a bookmark included. */
  get heard(): boolean {
    return this.#heard;
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
          this.#heard = true;
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
