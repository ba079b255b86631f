import type { Duplex } from "node:stream";
import type { Backlog } from "./backlog.ts";
import { abortStream, isFinished, wasReset } from "./stream-end.ts";
import { goingAwayFrame, WebSocketFrames } from "./websocket-frames.ts";

export interface SpliceOptions {
  readonly backlog: Backlog;
  /** Called with the number of bytes sent to the client. */
  readonly onBytes?: (count: number) => void;
  readonly isWebSocket?: boolean;
}

/**
 * Copies bytes between two streams in both directions. Either end may stop sending and still receive. If one end fails, so
 * does the other. Bytes that one end sent before it closed are still delivered to the other.
 */
export class Splice {
  readonly #client: Duplex;
  readonly #sandbox: Duplex;
  readonly #frames: WebSocketFrames | undefined;
  readonly #ended = Promise.withResolvers<void>();
  readonly #backlog: Backlog;
  #isLeaving = false;

  constructor(client: Duplex, sandbox: Duplex, { backlog, onBytes, isWebSocket = false }: SpliceOptions) {
    this.#backlog = backlog;
    this.#client = client;
    this.#sandbox = sandbox;
    this.#frames = isWebSocket ? new WebSocketFrames() : undefined;
    for (const end of [client, sandbox]) {
      end.allowHalfOpen = true;
      end.on("error", () => this.destroy());
      end.on("close", () => this.#closed(end));
    }
    sandbox.on("data", (chunk: Buffer) => {
      onBytes?.(chunk.length);
      this.#toCaller(chunk);
    });
    sandbox.on("end", () => client.end());
    client.on("drain", () => sandbox.resume());
    client.on("end", () => this.#clientEnded());
    client.pipe(sandbox, { end: false });
    client.on("data", () => backlog.wrote(sandbox));
    sandbox.resume();
    if (client.destroyed || sandbox.destroyed) this.destroy();
    else if (client.readableEnded) this.#clientEnded();
  }

  /** Resolves when both ends are closed or one has failed. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Sends a close frame to a WebSocket as soon as the current frame is complete. Does nothing for other protocols. */
  leave(): void {
    this.#isLeaving = true;
    if (this.#frames?.isBetween === true) this.#sendClose();
  }

  destroy(): void {
    abortStream(this.#client);
    abortStream(this.#sandbox);
    this.#ended.resolve();
  }

  #clientEnded(): void {
    if (wasReset(this.#client)) this.destroy();
    else this.#sandbox.end();
  }

  #closed(end: Duplex): void {
    if (!isFinished(end)) this.destroy();
    else if (this.#client.closed && this.#sandbox.closed) this.#ended.resolve();
  }

  #toCaller(chunk: Buffer): void {
    this.#frames?.take(chunk);
    if (!this.#client.write(chunk)) this.#sandbox.pause();
    this.#backlog.wrote(this.#client);
    if (this.#isLeaving && this.#frames?.isBetween === true) this.#sendClose();
  }

  #sendClose(): void {
    this.#isLeaving = false;
    this.#sandbox.removeAllListeners("data");
    this.#client.end(goingAwayFrame());
  }
}
