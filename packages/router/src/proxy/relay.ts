import type { Socket } from "node:net";
import type { ResponseHeadText } from "../http1/parse-head.ts";
import type { ResponseHandler, UpstreamConnection, UpstreamRequest } from "../http1/upstream-connection.ts";
import type { Route } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import type { Answer, AnswerBody } from "./answer.ts";
import { CallerGone, type Cancellation } from "./cancellation.ts";
import { BodyCutOff, BodyTooLong } from "./request-body.ts";
import { responseHead } from "./response-head.ts";

export interface RelayOptions {
  readonly answer: Answer;
  readonly cancellation: Cancellation;
  /** The sandbox, as the caller named it. */
  readonly route: Route;
  /** Told instead of an answer when the sandbox switches protocols. Absent: it may not. */
  readonly onUpgrade?: (head: ResponseHeadText, socket: Socket) => void;
}

export interface RelayWatcher {
  onHead(status: number): void;
  /** Told whenever anything moves, and how much of the body. */
  onBytes(count: number): void;
  /** Told once, when the answer has been handed over; with what stood in its way if it has not. */
  onDone(error: Error | undefined): void;
}

/** Hands a sandbox's answer to the caller as it comes, no faster than the caller takes it. */
export class Relay implements ResponseHandler {
  readonly onUpgrade: ResponseHandler["onUpgrade"];
  readonly #connection: UpstreamConnection;
  readonly #options: RelayOptions;
  readonly #watcher: RelayWatcher;

  constructor(connection: UpstreamConnection, options: RelayOptions, watcher: RelayWatcher) {
    this.#connection = connection;
    this.#options = options;
    this.#watcher = watcher;
    const { onUpgrade } = options;
    this.onUpgrade =
      onUpgrade &&
      ((head, socket) => {
        this.#leave();
        onUpgrade(head, socket);
      });
  }

  /** Sends the request. Throws when it was cancelled already. */
  run(request: UpstreamRequest): void {
    const { answer, cancellation } = this.#options;
    cancellation.throwIfCancelled();
    cancellation.onCancel = (reason) => this.#connection.destroy(reason);
    answer.onDrain = () => {
      this.#watcher.onBytes(0);
      this.#connection.resume();
    };
    this.#connection.send(request, this);
  }

  onHead({ status, message, rawHeaders }: ResponseHeadText, body: AnswerBody): void {
    this.#watcher.onHead(status);
    this.#watcher.onBytes(0);
    this.#options.answer.begin({ status, message, headers: responseHead(rawHeaders, this.#options), body });
  }

  onData(chunk: Buffer): void {
    this.#watcher.onBytes(chunk.length);
    if (!this.#options.answer.write(chunk)) this.#connection.pause();
  }

  onBatchEnd(): void {
    this.#options.answer.flush();
  }

  onEnd(): void {
    this.#leave();
    this.#connection.resume();
    this.#options.answer.end();
    this.#watcher.onDone(undefined);
  }

  onError(error: Error): void {
    this.#leave();
    this.#watcher.onDone(this.#answerTo(error));
  }

  /** The connection may soon serve another. */
  #leave(): void {
    this.#options.answer.onDrain = undefined;
    this.#options.cancellation.onCancel = undefined;
  }

  #answerTo(error: Error): Error {
    const { cancellation, route } = this.#options;
    if (cancellation.reason !== undefined) return cancellation.reason;
    if (error instanceof RouterError) return error;
    if (error instanceof BodyTooLong) return new RouterError("BodyTooLarge", "The request body is too large.");
    if (error instanceof BodyCutOff) return new CallerGone();
    const message = `The connection to the backend sandbox was lost: ${route.name}`;
    return new RouterError("BadUpstream", message, { cause: error });
  }
}
