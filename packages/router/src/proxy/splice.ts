import type { Duplex } from "node:stream";
import type { Backlog } from "./backlog.ts";
import { breakOff, isFinished, wasReset } from "./line.ts";
import { goingAwayFrame, WebSocketFrames } from "./websocket-frames.ts";

export interface SpliceOptions {
  readonly backlog: Backlog;
  /** Told of the bytes that went to the caller. */
  readonly onBytes?: (count: number) => void;
  readonly isWebSocket?: boolean;
}

/**
 * Two lines that have become one. Either end may stop sending and still receive; when one breaks, so does the other. What
 * one end has said before it left is still told to the other, at that one's pace.
 */
export class Splice {
  readonly #caller: Duplex;
  readonly #sandbox: Duplex;
  readonly #frames: WebSocketFrames | undefined;
  readonly #ended = Promise.withResolvers<void>();
  readonly #backlog: Backlog;
  #isLeaving = false;

  constructor(caller: Duplex, sandbox: Duplex, { backlog, onBytes, isWebSocket = false }: SpliceOptions) {
    this.#backlog = backlog;
    this.#caller = caller;
    this.#sandbox = sandbox;
    this.#frames = isWebSocket ? new WebSocketFrames() : undefined;
    for (const end of [caller, sandbox]) {
      end.allowHalfOpen = true;
      end.on("error", () => this.destroy());
      end.on("close", () => this.#closed(end));
    }
    sandbox.on("data", (chunk: Buffer) => {
      onBytes?.(chunk.length);
      this.#toCaller(chunk);
    });
    sandbox.on("end", () => caller.end());
    caller.on("drain", () => sandbox.resume());
    caller.on("end", () => this.#callerEnded());
    caller.pipe(sandbox, { end: false });
    caller.on("data", () => backlog.wrote(sandbox));
    sandbox.resume();
    if (caller.destroyed || sandbox.destroyed) this.destroy();
    else if (caller.readableEnded) this.#callerEnded();
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
    breakOff(this.#caller);
    breakOff(this.#sandbox);
    this.#ended.resolve();
  }

  #callerEnded(): void {
    if (wasReset(this.#caller)) this.destroy();
    else this.#sandbox.end();
  }

  #closed(end: Duplex): void {
    if (!isFinished(end)) this.destroy();
    else if (this.#caller.closed && this.#sandbox.closed) this.#ended.resolve();
  }

  #toCaller(chunk: Buffer): void {
    this.#frames?.take(chunk);
    if (!this.#caller.write(chunk)) this.#sandbox.pause();
    this.#backlog.wrote(this.#caller);
    if (this.#isLeaving && this.#frames?.isBetween === true) this.#sayGoodbye();
  }

  #sayGoodbye(): void {
    this.#isLeaving = false;
    this.#sandbox.removeAllListeners("data");
    this.#caller.end(goingAwayFrame());
  }
}
