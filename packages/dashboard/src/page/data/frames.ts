/** Runs work once per animation frame, however often it is asked for. Hidden pages have no frames: there a timer runs it. */
export class Frame {
  readonly #work: () => void;
  #cancel: (() => void) | undefined;

  constructor(work: () => void) {
    this.#work = work;
  }

  request(): void {
    if (this.#cancel !== undefined) return;
    const run = (): void => {
      this.#cancel = undefined;
      this.#work();
    };
    if (document.visibilityState === "hidden") {
      const timer = setTimeout(run, hiddenMs);
      this.#cancel = () => clearTimeout(timer);
    } else {
      const frame = requestAnimationFrame(run);
      this.#cancel = () => cancelAnimationFrame(frame);
    }
  }

  cancel(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}

const hiddenMs = 1000;
