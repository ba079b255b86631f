import type { Socket } from "node:net";
import type { ResponseHeadText } from "../http1/parse-head.ts";
import type { ResponseHandler, UpstreamConnection, UpstreamRequest } from "../http1/upstream-connection.ts";
import { type Cancellation, ClientDisconnected } from "../request/cancellation.ts";
import { BodyCutOff, BodyTooLong } from "../request/request-body.ts";
import type { ResponseBody, ResponseWriter } from "../request/response-writer.ts";
import { RouterError } from "../router-error.ts";
import { type ResponseOrigin, responseHead } from "./response-head.ts";

export interface ResponseRelayOptions extends ResponseOrigin {
  readonly response: ResponseWriter;
  readonly cancellation: Cancellation;
  /** Called if the sandbox switches protocols. Without it, that is an error. */
  readonly onUpgrade?: (head: ResponseHeadText, socket: Socket) => void;
}

export interface ResponseRelayObserver {
  onHead(status: number): void;
  /** Called on every progress, with the number of bytes of the body (which may be 0). */
  onBytes(count: number): void;
  /** Called once at the end, with the error if the response could not be relayed. */
  onDone(error: Error | undefined): void;
}

/** Relays a sandbox's response to the client, with flow control. */
export class ResponseRelay implements ResponseHandler {
  readonly onUpgrade: ResponseHandler["onUpgrade"];
  readonly #connection: UpstreamConnection;
  readonly #options: ResponseRelayOptions;
  readonly #observer: ResponseRelayObserver;

  constructor(connection: UpstreamConnection, options: ResponseRelayOptions, observer: ResponseRelayObserver) {
    this.#connection = connection;
    this.#options = options;
    this.#observer = observer;
    const { onUpgrade } = options;
    this.onUpgrade =
      onUpgrade &&
      ((head, socket) => {
        this.#detach();
        onUpgrade(head, socket);
      });
  }

  /** Sends the request. Throws if it was already cancelled. */
  run(request: UpstreamRequest): void {
    const { response, cancellation } = this.#options;
    cancellation.throwIfCancelled();
    cancellation.onCancel = (reason) => this.#connection.destroy(reason);
    response.onDrain = () => {
      this.#observer.onBytes(0);
      this.#connection.resume();
    };
    this.#connection.send(request, this);
  }

  onHead({ status, message, rawHeaders }: ResponseHeadText, body: ResponseBody): void {
    this.#observer.onHead(status);
    this.#observer.onBytes(0);
    this.#options.response.begin({ status, message, headers: responseHead(rawHeaders, this.#options), body });
  }

  onData(chunk: Buffer): void {
    this.#observer.onBytes(chunk.length);
    if (!this.#options.response.write(chunk)) this.#connection.pause();
  }

  onBatchEnd(): void {
    this.#options.response.flush();
  }

  onEnd(): void {
    this.#detach();
    this.#connection.resume();
    this.#options.response.end();
    this.#observer.onDone(undefined);
  }

  onError(error: Error): void {
    this.#detach();
    this.#observer.onDone(this.#clientErrorOf(error));
  }

  /** The connection may be reused for another request at once. */
  #detach(): void {
    this.#options.response.onDrain = undefined;
    this.#options.cancellation.onCancel = undefined;
  }

  #clientErrorOf(error: Error): Error {
    const { cancellation, route } = this.#options;
    if (cancellation.reason !== undefined) return cancellation.reason;
    if (error instanceof RouterError) return error;
    if (error instanceof BodyTooLong) return new RouterError("BodyTooLarge", "The request body is too large.");
    if (error instanceof BodyCutOff) return new ClientDisconnected();
    const message = `The connection to the backend sandbox was lost: ${route.name}`;
    return new RouterError("BadUpstream", message, { cause: error });
  }
}
