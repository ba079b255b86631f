import { KubeError } from "../errors.ts";

/** The right to write, while the lease is renewed. */
export interface Leadership extends AsyncDisposable {
  readonly identity: string;
  /** Aborted when leadership is lost. To lead again, call `campaign` again. */
  readonly lost: AbortSignal;
  /**
   * Throws unless the lease was renewed within the renew deadline. Call it right before every write: a process that was
   * paused and continued finds out here before any timer fires.
   */
  assertLeading(action: string): void;
}

/** Tracks when the lease was last renewed. Once the deadline has passed, it stays lost. */
export class Tenure {
  readonly #renewDeadlineMs: number;
  readonly #now: () => number;
  readonly #lost = new AbortController();
  /** When the last successful renewal was sent. Other candidates count from a later time. */
  #renewedAt: number;

  constructor(options: { readonly renewDeadlineMs: number; readonly now: () => number; readonly acquiredAt: number }) {
    this.#renewDeadlineMs = options.renewDeadlineMs;
    this.#now = options.now;
    this.#renewedAt = options.acquiredAt;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** How long writes are allowed without another renewal. */
  get leftMs(): number {
    return this.#lost.signal.aborted ? 0 : Math.max(0, this.#renewedAt + this.#renewDeadlineMs - this.#now());
  }

  /** Records a renewal. If the deadline passed before it, leadership is lost: another process may have led in between. */
  renew(sentAt: number): void {
    if (this.leftMs === 0) this.lose("it was renewed too late");
    else this.#renewedAt = sentAt;
  }

  lose(reason: string): void {
    this.#lost.abort(new KubeError("Unreachable", `Cannot lead: ${reason}`));
  }

  assert(action: string): void {
    if (this.leftMs > 0) return;
    this.lose("the lease was not renewed in time");
    const agoMs = Math.round(this.#now() - this.#renewedAt);
    // This reason means that the request was not sent.
    throw new KubeError(
      "Unreachable",
      `Cannot ${action}: this process no longer leads; it last renewed its lease ${agoMs} ms ago`,
    );
  }
}
