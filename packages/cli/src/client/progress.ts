import { printable } from "./printable.ts";

export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * One line that shows what a command waits for. On a terminal it is replaced when it changes, and removed at the end. Elsewhere nothing is
 * printed: only results belong into a log.
 */
export class Progress implements Disposable {
  readonly #output: ProgressOutput;
  readonly #columns: number;
  #shown = "";

  constructor(output: ProgressOutput = process.stderr, columns: number = process.stderr.columns || 80) {
    this.#output = output;
    this.#columns = columns;
  }

  /** Whether anybody sees what `show` prints. */
  get isVisible(): boolean {
    return this.#output.isTTY === true;
  }

  show(text: string): void {
    // A longer line would wrap, and only its last part would be replaced.
    const line = printable(text)
      .replaceAll(/\s+/g, " ")
      .slice(0, this.#columns - 1);
    if (this.#output.isTTY !== true || line === this.#shown) return;
    this.#shown = line;
    this.#output.write(`\r\u001b[2K${line}`);
  }

  [Symbol.dispose](): void {
    if (this.#shown !== "") this.#output.write("\r\u001b[2K");
    this.#shown = "";
  }
}
