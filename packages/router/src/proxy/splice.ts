import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { RouterReason } from "../router-error.ts";
import type { Backlog } from "./backlog.ts";
import { abortStream, endStream, isFinished, wasReset } from "./stream-end.ts";
import { closeCodeIn, closeFrame, goingAwayFrame, WebSocketFrames } from "./websocket-frames.ts";

export interface SpliceOptions {
  readonly backlog: Backlog;
  /** Called with the number of bytes sent to the client. */
  readonly onBytes?: (count: number) => void;
  /** Called on every transfer while the sandbox is awake. */
  readonly onTransfer?: () => void;
  readonly isWebSocket?: boolean;
}

/** Why the router closed a connection. The message is sent to clients of WebSockets. */
export interface Closed {
  readonly reason: RouterReason;
  readonly message: string;
}

/**
 * Copies bytes between two streams in both directions. Either end may stop sending and still receive. If one end fails, so
 * does the other. Bytes that one end sent before it closed are still delivered to the other.
 *
 * While the sandbox is asleep, nothing is sent to it: what the client sends is held, and its end too. Memory is bounded,
 * because a client with held bytes is not read any further.
 */
export class Splice {
  /** Called when the client has sent bytes that are held. */
  onHeld: (() => void) | undefined;
  readonly #client: Duplex;
  readonly #sandbox: Duplex;
  readonly #options: SpliceOptions;
  /** The frames of the sandbox, and those that it was sent. */
  readonly #frames: WebSocketFrames | undefined;
  readonly #sent: WebSocketFrames | undefined;
  readonly #ended = Promise.withResolvers<Closed | undefined>();
  readonly #released = Promise.withResolvers<void>();
  #isLeaving = false;
  #isOver = false;
  #isAsleep = false;
  #held: Buffer[] = [];
  /** How the client left while the sandbox was asleep. The sandbox is told when it is awake again. */
  #left: "ended" | "closed" | "failed" | undefined;

  constructor(client: Duplex, sandbox: Duplex, options: SpliceOptions) {
    this.#client = client;
    this.#sandbox = sandbox;
    this.#options = options;
    this.#frames = options.isWebSocket === true ? new WebSocketFrames() : undefined;
    this.#sent = options.isWebSocket === true ? new WebSocketFrames() : undefined;
    for (const end of [client, sandbox]) {
      end.allowHalfOpen = true;
      end.on("error", () => this.#failed(end));
      end.on("close", () => this.#closed(end));
    }
    sandbox.on("data", (chunk: Buffer) => this.#toClient(chunk));
    sandbox.on("end", () => client.end());
    sandbox.on("drain", () => this.#readClient());
    client.on("drain", () => sandbox.resume());
    client.on("end", () => this.#clientEnded());
    client.on("data", (chunk: Buffer) => this.#toSandbox(chunk));
  }

  /** Starts to copy. `early` are bytes that the client has sent before. */
  start(early: Buffer): void {
    if (this.#client.destroyed || this.#sandbox.destroyed) return this.destroy();
    this.#sandbox.resume();
    if (early.length > 0) this.#toSandbox(early);
    if (this.#client.readableEnded) this.#clientEnded();
    else this.#readClient();
  }

  /** Resolves when both ends are closed or one has failed, with the reason if the router closed them. */
  get ended(): Promise<Closed | undefined> {
    return this.#ended.promise;
  }

  /** Resolves when the connection to the sandbox is closed, which may be later than `ended` if the sandbox is asleep. */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  /** Whether bytes of the client are held. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** Sends nothing to the sandbox until `wake` is called. */
  sleep(): void {
    this.#isAsleep = true;
    // The kernel would take the silence of a sandbox that is not there for a broken connection.
    if (this.#sandbox instanceof Socket) this.#sandbox.setKeepAlive(false);
  }

  /** Sends what was held. The sandbox has the state in which it fell asleep, so its end of the connection continues. */
  wake(): void {
    if (!this.#isAsleep) return;
    this.#isAsleep = false;
    if (this.#sandbox instanceof Socket) this.#sandbox.setKeepAlive(true);
    if (this.#left === "failed") return this.#release();
    if (this.#left === "closed") {
      endStream(this.#sandbox, Buffer.concat(this.#held));
      return this.#released.resolve();
    }
    const held = this.#held;
    this.#held = [];
    for (const chunk of held) this.#toSandbox(chunk);
    if (this.#left === "ended") this.#sandbox.end();
    else this.#readClient();
  }

  /** Sends a close frame to a WebSocket as soon as the current frame is complete. Does nothing for other protocols. */
  leave(): void {
    this.#isLeaving = true;
    if (this.#frames?.isBetween === true) this.#sendClose();
  }

  /**
   * Closes both ends, because the sandbox lost its end of the connection or cannot get the bytes. With `restored`, the sandbox
   * continues from an earlier state that may contain its end: it gets the reset when it can receive it.
   */
  close(why: Closed, restored?: Promise<void>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended.resolve(why);
    // 1012: service restart.
    const mayTell = this.#frames?.isBetween === true && !this.#client.writableNeedDrain;
    if (mayTell) endStream(this.#client, closeFrame(1012, why.message));
    else abortStream(this.#client);
    this.#held = [];
    if (restored === undefined) this.#release();
    else void restored.then(() => this.#release());
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    abortStream(this.#client);
    this.#ended.resolve(undefined);
    this.#release();
  }

  #release(): void {
    this.#held = [];
    abortStream(this.#sandbox);
    this.#released.resolve();
  }

  /** A reset that is sent to a sandbox while it is asleep would be lost, so it is sent later. */
  #failed(end: Duplex): void {
    if (this.#isOver) return;
    if (end === this.#client && this.#left === "closed") return;
    if (end !== this.#client || !this.#isAsleep) return this.destroy();
    this.#left = "failed";
    this.#held = [];
    abortStream(this.#client);
    this.#ended.resolve(undefined);
  }

  #clientEnded(): void {
    if (wasReset(this.#client)) this.#failed(this.#client);
    else if (this.#isAsleep) this.#left ??= "ended";
    else this.#sandbox.end();
  }

  #closed(end: Duplex): void {
    if (!isFinished(end)) return this.#failed(end);
    if (!this.#client.closed || !this.#sandbox.closed) return;
    this.#ended.resolve(undefined);
    this.#released.resolve();
  }

  #toSandbox(chunk: Buffer): void {
    if (this.#isAsleep) return this.#hold(chunk);
    this.#options.onTransfer?.();
    this.#sent?.take(chunk);
    if (!this.#sandbox.write(chunk)) this.#client.pause();
    this.#options.backlog.wrote(this.#sandbox);
  }

  #hold(chunk: Buffer): void {
    const code = this.#sent?.isBetween === true && !this.isHolding ? closeCodeIn(chunk) : undefined;
    this.#held.push(chunk);
    if (code !== undefined) return this.#answerClose(code);
    this.#client.pause();
    this.onHeld?.();
  }

  /** A client that closes its WebSocket gets an answer, so that the sandbox need not be woken for it. */
  #answerClose(code: number): void {
    this.#left = "closed";
    this.#ended.resolve(undefined);
    endStream(this.#client, closeFrame(code));
  }

  #readClient(): void {
    if (!this.isHolding && !this.#sandbox.writableNeedDrain) this.#client.resume();
  }

  #toClient(chunk: Buffer): void {
    const { backlog, onBytes, onTransfer } = this.#options;
    if (this.#left === "closed") return;
    onBytes?.(chunk.length);
    // What a sandbox sends while it is being stopped must not wake it.
    if (!this.#isAsleep) onTransfer?.();
    this.#frames?.take(chunk);
    if (!this.#client.write(chunk)) this.#sandbox.pause();
    backlog.wrote(this.#client);
    if (this.#isLeaving && this.#frames?.isBetween === true) this.#sendClose();
  }

  #sendClose(): void {
    this.#isLeaving = false;
    this.#sandbox.removeAllListeners("data");
    this.#client.end(goingAwayFrame());
  }
}
