import type { CodeLines } from "./code-lines.ts";

type Stream = "stdout" | "stderr";

/** How long the beginning of a line waits for its end: as long as in notebooks. Python writes the text and the end of a line separately. */
const waitMs = 200;
const maxBytes = 32 * 1024;

/** Sends the output of code, lines in one piece as far as possible. */
export class LineOutput implements Disposable {
  readonly #lines: CodeLines;
  readonly #signal: AbortSignal;
  #stream: Stream = "stdout";
  #text = "";
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(lines: CodeLines, signal: AbortSignal) {
    this.#lines = lines;
    this.#signal = signal;
  }

  async write(stream: Stream, text: string): Promise<void> {
    if (stream !== this.#stream) await this.flush();
    this.#stream = stream;
    this.#text += text;
    const isWhole = this.#text.endsWith("\n") || this.#text.length > maxBytes;
    if (isWhole) await this.flush();
    // An error of this write is that of the next one too.
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), waitMs);
  }

  /** To be called before anything else is sent. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#text;
    this.#text = "";
    if (text === "") return this.#sending;
    const line = { type: this.#stream, text, timestamp: new Date().toISOString() };
    this.#sending = this.#lines.send(line, this.#signal);
    return this.#sending;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
