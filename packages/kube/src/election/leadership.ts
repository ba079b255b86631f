import { KubeError } from "../errors.ts";

/** The right to write, for as long as it is renewed. */
export interface Leadership extends AsyncDisposable {
  readonly identity: string;
  /** Aborted when leadership is lost. It does not come back: campaign again. */
  readonly lost: AbortSignal;
  /**
   * Throws unless the lease was renewed within the renew deadline. To be called right before every write: a process that
   * was stopped and goes on finds out here, before any timer has told it.
   */
  assertLeading(action: string): void;
}

/** When the lease was last known to be ours. Once too long ago, it stays lost. */
export class Tenure {
  readonly #renewDeadlineMs: number;
  readonly #now: () => number;
  readonly #lost = new AbortController();
  /** When the last renewal that succeeded was sent: others count from later than that. */
  #renewedAt: number;

  constructor(options: { readonly renewDeadlineMs: number; readonly now: () => number; readonly acquiredAt: number }) {
    this.#renewDeadlineMs = options.renewDeadlineMs;
    this.#now = options.now;
    this.#renewedAt = options.acquiredAt;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** How long the right to write still lasts without another renewal. */
  get leftMs(): number {
    return this.#lost.signal.aborted ? 0 : Math.max(0, this.#renewedAt + this.#renewDeadlineMs - this.#now());
  }

  /** Refused when the tenure had run out before the renewal: someone else may have led in between. */
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
    // The request was never sent, which is what this reason says.
    throw new KubeError(
      "Unreachable",
      `Cannot ${action}: this process no longer leads, it last renewed its lease ${agoMs} ms ago`,
    );
  }
}
