import { BodyCutOff, type BodySink, type RequestBody } from "../request/request-body.ts";
import { type BodyFraming, BodyReader } from "./body-reader.ts";

/** Flow control of the connection that carries the body. */
export interface BodyFlow {
  readonly onStart: () => void;
  readonly onPause: () => void;
  readonly onResume: () => void;
  readonly onAbandon: () => void;
}

/** The body of an HTTP/1.1 request. The connection passes it bytes while `wantsBytes` is true. */
export class ClientBody implements RequestBody {
  readonly length: number | undefined;
  readonly #reader: BodyReader;
  readonly #flow: BodyFlow;
  readonly #deliver = (data: Buffer): void => this.#sink?.onBody(data);
  #sink: BodySink | undefined;
  #isPaused = true;
  #isAbandoned = false;

  constructor(framing: BodyFraming, flow: BodyFlow) {
    this.length = typeof framing === "number" ? framing : undefined;
    this.#reader = new BodyReader(framing);
    this.#flow = flow;
  }

  get isWhole(): boolean {
    return this.#reader.isWhole;
  }

  get wantsBytes(): boolean {
    return this.#isAbandoned || !this.#isPaused;
  }

  start(sink: BodySink): void {
    this.#sink = sink;
    this.#isPaused = false;
    this.#flow.onStart();
  }

  pause(): void {
    this.#isPaused = true;
    if (!this.isWhole && !this.#isAbandoned) this.#flow.onPause();
  }

  resume(): void {
    if (!this.#isPaused || this.isWhole || this.#isAbandoned) return;
    this.#isPaused = false;
    this.#flow.onResume();
  }

  abandon(): void {
    this.#sink = undefined;
    if (this.#isAbandoned || this.isWhole) return;
    this.#isAbandoned = true;
    this.#flow.onAbandon();
  }

  /** Consumes the bytes of the body and returns where they end. Throws `MalformedBody`. */
  take(bytes: Buffer, from: number): number {
    const end = this.#reader.take(bytes, from, this.#deliver);
    if (this.isWhole) {
      const sink = this.#sink;
      this.#sink = undefined;
      sink?.onBodyEnd();
    }
    return end;
  }

  /** Reports that the body will not be complete. */
  fail(error: Error = new BodyCutOff()): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.onBodyError(error);
  }
}
