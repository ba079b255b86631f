/**
 * Carries watches, followed logs and terminals over one WebSocket. `open` starts a GET of the Kubernetes API; its text arrives in pieces.
 * `call` starts a call of the runtime API; its bytes do. When the connection breaks, every stream ends with the reason "disconnected",
 * and its owner opens it again.
 */
import { loadSession } from "./session.ts";

export interface StreamHandlers {
  /** The status of the response. */
  onStatus?(status: number, headers: Readonly<Record<string, string>>): void;
  onText?(text: string): void;
  /** Of a call of the runtime API. Report with `read` when they were used: more follows only then. */
  onBytes?(bytes: Uint8Array<ArrayBuffer>): void;
  /** The response is complete, failed, or the connection broke. Nothing follows. */
  onEnd(end: StreamEnd): void;
}

export interface StreamEnd {
  readonly isDisconnected: boolean;
  readonly message?: string | undefined;
}

export interface RuntimeCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

interface Received {
  readonly id: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly data?: string;
  readonly text?: string;
  readonly end?: boolean;
  readonly message?: string;
}

export interface RuntimeStream {
  /** No handler is called afterwards. */
  readonly close: () => void;
  readonly read: (bytes: number) => void;
}

const sessionEnded = 4401;

export class Streams {
  readonly #requestToken: string;
  readonly #onSignedOut: () => void;
  readonly #open = new Map<number, StreamHandlers>();
  #socket: WebSocket | undefined;
  #lastId = 0;
  /** Whether the session has ended. Later streams would be refused. */
  #isOver = false;

  constructor(requestToken: string, onSignedOut: () => void) {
    [this.#requestToken, this.#onSignedOut] = [requestToken, onSignedOut];
  }

  /** Returns a function that closes the stream. No handler is called afterwards. */
  open(path: string, handlers: StreamHandlers): () => void {
    return this.#start({ path }, handlers).close;
  }

  call({ path, headers, body }: RuntimeCall, handlers: StreamHandlers): RuntimeStream {
    return this.#start({ runtime: { path, headers, body: encode(body) } }, handlers);
  }

  #start(request: object, handlers: StreamHandlers): RuntimeStream {
    if (this.#isOver) return { close: () => undefined, read: () => undefined };
    const id = ++this.#lastId;
    this.#open.set(id, handlers);
    const socket = this.#connect();
    const send = (message: object): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    };
    const start = (): void => send({ open: id, ...request });
    if (socket.readyState === WebSocket.OPEN) start();
    else socket.addEventListener("open", () => this.#open.has(id) && start());
    return {
      close: () => {
        if (this.#open.delete(id)) send({ close: id });
      },
      read: (bytes) => send({ read: { id, bytes } }),
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
      if (code === sessionEnded) this.#endSession();
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
    if (isOver) this.#endSession();
  }

  #endSession(): void {
    this.#isOver = true;
    this.#onSignedOut();
  }

  #receive({ id, status, headers = {}, text, data, end, message }: Received): void {
    const handlers = this.#open.get(id);
    if (handlers === undefined) return;
    if (status !== undefined) handlers.onStatus?.(status, headers);
    if (text !== undefined) handlers.onText?.(text);
    if (data !== undefined) handlers.onBytes?.(decode(data));
    if (end === true) {
      this.#open.delete(id);
      handlers.onEnd({ isDisconnected: false, message });
    }
  }
}

function encode(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
