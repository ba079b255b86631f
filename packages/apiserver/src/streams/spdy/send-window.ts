import { initialWindowBytes } from "./frames.ts";

const largest = 0x7f_ff_ff_ff;

/**
 * How much one side may still send, as far as the other has said. Kubernetes' own clients never open a window and never
 * look at ours, while the protocol gives both sides one of 64 KiB from the start: so what is sent is always counted, and
 * the count binds from the moment the other side has shown that it keeps windows at all.
 */
export class SendWindow {
  #left = initialWindowBytes;

  /** How much may go out now, at most `wanted`. */
  allows(wanted: number): number {
    return Math.max(0, Math.min(wanted, this.#left));
  }

  spend(bytes: number): void {
    this.#left -= bytes;
  }

  /** False when the other side gave more than a window can hold. */
  grow(bytes: number): boolean {
    this.#left += bytes;
    return this.#left <= largest;
  }
}
