import type { Duplex } from "node:stream";
import { goingAwayFrame, WebSocketFrames } from "./websocket-frames.ts";

export interface SpliceOptions {
  /** Told of the bytes that went to the caller. */
  readonly onBytes?: (count: number) => void;
  readonly isWebSocket?: boolean;
}

/** Two connections that have become one. Either end may stop sending and still receive. */
export class Splice {
  readonly #caller: Duplex;
  readonly #sandbox: Duplex;
  readonly #frames: WebSocketFrames | undefined;
  readonly #ended = Promise.withResolvers<void>();
  #isLeaving = false;

  constructor(caller: Duplex, sandbox: Duplex, { onBytes, isWebSocket = false }: SpliceOptions = {}) {
    this.#caller = caller;
    this.#sandbox = sandbox;
    this.#frames = isWebSocket ? new WebSocketFrames() : undefined;
    sandbox.on("data", (chunk: Buffer) => {
      onBytes?.(chunk.length);
      this.#toCaller(chunk);
    });
    sandbox.on("end", () => caller.end());
    caller.on("drain", () => sandbox.resume());
    caller.pipe(sandbox);
    sandbox.resume();
    for (const end of [caller, sandbox]) {
      end.on("error", () => this.destroy());
      end.on("close", () => this.destroy());
    }
  }

  /** Settles when both are closed, or one of them broke. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Says goodbye to a WebSocket as soon as the frame under way is whole. Other protocols have no word for it. */
  leave(): void {
    this.#isLeaving = true;
    if (this.#frames?.isBetween === true) this.#sayGoodbye();
  }

  destroy(): void {
    this.#caller.destroy();
    this.#sandbox.destroy();
    this.#ended.resolve();
  }

  #toCaller(chunk: Buffer): void {
    this.#frames?.take(chunk);
    if (!this.#caller.write(chunk)) this.#sandbox.pause();
    if (this.#isLeaving && this.#frames?.isBetween === true) this.#sayGoodbye();
  }

  #sayGoodbye(): void {
    this.#isLeaving = false;
    this.#sandbox.removeAllListeners("data");
    this.#caller.end(goingAwayFrame());
  }
}
