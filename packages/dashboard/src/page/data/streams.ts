/**
 * Carries watches and followed logs over one WebSocket. `open` starts a GET of the Kubernetes API; its text arrives in pieces. When
 * the connection breaks, every stream ends with the reason "disconnected", and its owner opens it again.
 */
import { loadSession } from "./session.ts";

export interface StreamHandlers {
  /** The status of the response. */
  onStatus?(status: number): void;
  onText(text: string): void;
  /** The response is complete, failed, or the connection broke. Nothing follows. */
  onEnd(end: StreamEnd): void;
}

export interface StreamEnd {
  readonly isDisconnected: boolean;
  readonly message?: string | undefined;
}

interface Received {
  readonly id: number;
  readonly status?: number;
  readonly text?: string;
  readonly end?: boolean;
  readonly message?: string;
}

const sessionEnded = 4401;

export class Streams {
  readonly #requestToken: string;
  readonly #onSignedOut: () => void;
  readonly #open = new Map<number, StreamHandlers>();
  #socket: WebSocket | undefined;
  #lastId = 0;

  constructor(requestToken: string, onSignedOut: () => void) {
    [this.#requestToken, this.#onSignedOut] = [requestToken, onSignedOut];
  }

  /** Returns a function that closes the stream. No handler is called afterwards. */
  open(path: string, handlers: StreamHandlers): () => void {
    const id = ++this.#lastId;
    this.#open.set(id, handlers);
    const socket = this.#connect();
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ open: id, path }));
    else socket.addEventListener("open", () => this.#open.has(id) && socket.send(JSON.stringify({ open: id, path })));
    return () => {
      if (!this.#open.delete(id)) return;
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ close: id }));
    };
  }

  #connect(): WebSocket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/streams`);
    this.#socket = socket;
    socket.addEventListener("open", () => socket.send(JSON.stringify({ token: this.#requestToken })));
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(data as string) as Received));
    socket.addEventListener("close", ({ code }) => {
      this.#socket = undefined;
      const ended = [...this.#open.values()];
      this.#open.clear();
      if (code === sessionEnded) this.#onSignedOut();
      else if (ended.length > 0) void this.#checkSession();
      for (const handlers of ended) handlers.onEnd({ isDisconnected: true });
    });
    return socket;
  }

  /** A handshake that is refused looks like a broken connection. */
  async #checkSession(): Promise<void> {
    const isOver = await loadSession().then(
      (session) => session?.requestToken !== this.#requestToken,
      () => false,
    );
    if (isOver) this.#onSignedOut();
  }

  #receive({ id, status, text, end, message }: Received): void {
    const handlers = this.#open.get(id);
    if (handlers === undefined) return;
    if (status !== undefined) handlers.onStatus?.(status);
    if (text !== undefined) handlers.onText(text);
    if (end === true) {
      this.#open.delete(id);
      handlers.onEnd({ isDisconnected: false, message });
    }
  }
}
