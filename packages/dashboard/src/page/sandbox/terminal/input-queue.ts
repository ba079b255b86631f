/** Input that waits beyond this is refused: the program does not read it. */
const mostWaiting = 1024 * 1024;
/** Of one call. */
const largestPiece = 16 * 1024;

/** Sends what is typed in its order, one call at a time. What is typed during a call is sent together. */
export class InputQueue {
  readonly #send: (text: string) => Promise<void>;
  readonly #onLost: (why: unknown) => void;
  #waiting = "";
  #isOpen = false;
  #isSending = false;

  constructor(send: (text: string) => Promise<void>, onLost: (why: unknown) => void) {
    [this.#send, this.#onLost] = [send, onLost];
  }

  /** From now on input is sent. What was typed before is sent first. */
  open(): void {
    this.#isOpen = true;
    void this.#drain();
  }

  /** Input waits until the next `open`. */
  close(): void {
    this.#isOpen = false;
  }

  add(text: string): void {
    if (this.#waiting.length + text.length > mostWaiting) {
      return this.#onLost(new Error("The program does not read its input: what you typed last was dropped"));
    }
    this.#waiting += text;
    void this.#drain();
  }

  async #drain(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#isOpen && this.#waiting !== "") {
      const piece = this.#take();
      try {
        await this.#send(piece);
      } catch (error) {
        this.#waiting = "";
        this.#onLost(error);
      }
    }
    this.#isSending = false;
  }

  #take(): string {
    let end = Math.min(largestPiece, this.#waiting.length);
    // The halves of a surrogate pair are one character.
    if (/[\ud800-\udbff]$/.test(this.#waiting.slice(0, end)) && end < this.#waiting.length) end += 1;
    const piece = this.#waiting.slice(0, end);
    this.#waiting = this.#waiting.slice(end);
    return piece;
  }
}
