import { type BodySink, BodyTooLong, type RequestBody } from "../request/request-body.ts";

export interface LimitedBodyOptions {
  /** 0: no limit. */
  readonly maxBytes: number;
  readonly onProgress: () => void;
}

/** A request body that reports its progress and ends with an error beyond the limit. */
export class LimitedBody implements RequestBody, BodySink {
  readonly #body: RequestBody;
  readonly #options: LimitedBodyOptions;
  #sink: BodySink | undefined;
  #bytes = 0;

  constructor(body: RequestBody, options: LimitedBodyOptions) {
    this.#body = body;
    this.#options = options;
  }

  get length(): number | undefined {
    return this.#body.length;
  }

  start(sink: BodySink): void {
    this.#sink = sink;
    this.#body.start(this);
  }

  pause(): void {
    this.#body.pause();
  }

  resume(): void {
    this.#body.resume();
  }

  abandon(): void {
    this.#sink = undefined;
    this.#body.abandon();
  }

  onBody(chunk: Buffer): void {
    const { maxBytes, onProgress } = this.#options;
    this.#bytes += chunk.length;
    if (maxBytes > 0 && this.#bytes > maxBytes) {
      const sink = this.#sink;
      this.abandon();
      sink?.onBodyError(new BodyTooLong());
      return;
    }
    onProgress();
    this.#sink?.onBody(chunk);
  }

  onBodyEnd(): void {
    this.#sink?.onBodyEnd();
  }

  onBodyError(error: Error): void {
    this.#sink?.onBodyError(error);
  }
}
