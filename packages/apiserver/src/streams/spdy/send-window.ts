import { initialWindowBytes } from "./frames.ts";

const largest = 0x7f_ff_ff_ff;

/**
 * The flow-control window for sending. The protocol starts with windows of 64 KiB, but Kubernetes' own clients never send window
 * updates and ignore ours. Therefore sent bytes are always counted, but the window is enforced only after the peer has sent a
 * first update.
 */
export class SendWindow {
  #left = initialWindowBytes;

  /** The number of bytes that may be sent now, at most `wanted`. */
  allows(wanted: number): number {
    return Math.max(0, Math.min(wanted, this.#left));
  }

  spend(bytes: number): void {
    this.#left -= bytes;
  }

  /** Returns false when the window would exceed its maximum. */
  grow(bytes: number): boolean {
    this.#left += bytes;
    return this.#left <= largest;
  }
}
