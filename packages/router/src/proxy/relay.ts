import type { ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import { RouterError } from "../router-error.ts";
import { BodyCutOff, BodyTooLong } from "./body-source.ts";
import { CallerGone, type Cancellation } from "./cancellation.ts";
import { responseHead, responseHeadForHttp2 } from "./response-head.ts";

export interface RelayOptions {
  readonly response: ServerResponse;
  readonly cancellation: Cancellation;
  /** The sandbox, as the caller named it. */
  readonly name: string;
  readonly isHttp2: boolean;
  readonly hasBody: boolean;
  /** Told whenever anything moves, and how much of the body. */
  readonly onBytes: (count: number) => void;
  readonly onHead: (status: number) => void;
}

/** Four reads of a socket: enough to keep both sides busy, and all that a caller who takes nothing can make us hold. */
const mostQueuedBytes = 256 * 1024;

/** Hands a sandbox's answer to the caller as it comes, no faster than the caller takes it. */
export class Relay implements Dispatcher.DispatchHandler {
  readonly #options: RelayOptions;
  readonly #settled = Promise.withResolvers<boolean>();
  #controller: Dispatcher.DispatchController | undefined;
  #isSent: boolean;
  #isFlushed = false;
  /** Not written yet: most answers are whole with it, and are then sent in one piece. */
  #first: Buffer | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#isSent = !options.hasBody;
    options.cancellation.onCancel = (reason) => this.#controller?.abort(reason);
  }

  /** Settles when the answer has been handed over: with true when the connection can be used again. */
  get done(): Promise<boolean> {
    return this.#settled.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    const { reason } = this.#options.cancellation;
    if (reason !== undefined) controller.abort(reason);
  }

  onRequestSent(): void {
    this.#isSent = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, message = ""): void {
    // What announces the answer is between the sandbox and the router.
    if (status < 200) return;
    const { response, isHttp2, onHead, onBytes } = this.#options;
    const raw = (controller.rawHeaders ?? []) as (Buffer | string)[];
    onBytes(0);
    onHead(status);
    if (isHttp2) response.writeHead(status, responseHeadForHttp2(raw));
    else response.writeHead(status, plainText(message), responseHead(raw));
    // Sent with as much of the body as is here already, else at once: an event stream may begin silent.
    process.nextTick(() => this.#flush());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#options.onBytes(chunk.length);
    if (!this.#isFlushed && this.#first === undefined) {
      this.#first = chunk;
      return;
    }
    this.#flush();
    const { response } = this.#options;
    if (response.write(chunk) || this.#mayQueueMore()) return;
    controller.pause();
    response.once("drain", () => {
      this.#options.onBytes(0);
      controller.resume();
    });
  }

  onResponseEnd(): void {
    this.#isFlushed = true;
    this.#options.response.end(this.#first);
    this.#settled.resolve(this.#isSent);
  }

  onResponseError(_: unknown, error: Error): void {
    this.#settled.reject(this.#answerTo(error));
  }

  #answerTo(error: Error): Error {
    const { cancellation, name } = this.#options;
    if (cancellation.reason !== undefined) return cancellation.reason;
    if (error instanceof BodyTooLong) return new RouterError("BodyTooLarge", "The request body is too large.");
    if (error instanceof BodyCutOff) return new CallerGone();
    const message = `The connection to the backend sandbox was lost: ${name}`;
    return new RouterError("BadUpstream", message, { cause: error });
  }

  /** The next piece is fetched while this one is sent. What HTTP/2 queues cannot be seen. */
  #mayQueueMore(): boolean {
    const { response, isHttp2 } = this.#options;
    return !isHttp2 && response.writableLength < mostQueuedBytes;
  }

  #flush(): void {
    const { response } = this.#options;
    if (this.#isFlushed || response.destroyed) return;
    this.#isFlushed = true;
    if (this.#first === undefined) response.flushHeaders();
    else response.write(this.#first);
    this.#first = undefined;
  }
}

/** Node refuses to write a reason phrase with anything else in it. */
function plainText(message: string): string {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(message) ? message : "";
}
