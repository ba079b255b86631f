import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

export interface BodySourceOptions {
  /** No limit when 0. */
  readonly maxBytes: number;
  readonly onProgress: () => void;
  /** Told when the sandbox is ready for the body. */
  readonly onWanted: () => void;
}

/** The body is longer than the router lets pass. */
export class BodyTooLong extends Error {}

/** The caller went away in the middle of its body. */
export class BodyCutOff extends Error {}

/**
 * A request's body on its way to the sandbox, read only as fast as the sandbox takes it. Whoever destroys this stream
 * leaves the request as it is, so that an answer can still be given.
 */
export class BodySource extends Readable {
  readonly #request: IncomingMessage;
  readonly #options: BodySourceOptions;
  readonly #listeners: readonly (readonly [string, (chunk: Buffer) => void])[];
  #bytes = 0;
  #started = false;

  constructor(request: IncomingMessage, options: BodySourceOptions) {
    // Four reads of a socket: the next piece is fetched while this one is sent.
    super({ highWaterMark: 256 * 1024 });
    this.#request = request;
    this.#options = options;
    this.#listeners = [
      ["data", (chunk) => this.#take(chunk)],
      ["end", () => this.push(null)],
      ["error", () => this.destroy(new BodyCutOff())],
      ["close", () => this.#closed()],
    ];
  }

  override _read(): void {
    if (this.#started) {
      this.#request.resume();
      return;
    }
    this.#started = true;
    this.#options.onWanted();
    for (const [event, listener] of this.#listeners) this.#request.on(event, listener);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    for (const [event, listener] of this.#listeners) this.#request.off(event, listener);
    callback(error);
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const { maxBytes, onProgress } = this.#options;
    if (maxBytes > 0 && this.#bytes > maxBytes) {
      this.destroy(new BodyTooLong());
      return;
    }
    onProgress();
    if (!this.push(chunk)) this.#request.pause();
  }

  #closed(): void {
    if (!this.#request.readableEnded) this.destroy(new BodyCutOff());
  }
}
