/**
 * A `fetch` for the SDK that carries calls with endless responses over the WebSocket of the page: each would otherwise occupy one of the six
 * connections that browsers open to a server, in all windows together.
 */
import type { Streams } from "./streams.ts";

/** Called when a stream begins, and when it was lost. */
export type OnConnection = (isConnected: boolean) => void;

/** Of the Connect protocol: calls whose response is a stream. */
const streamType = "application/connect+json";
/** The server takes messages of 16 KiB, in base64. */
const largestBodyBytes = 8 * 1024;
const prefix = "/runtime";

export function streamFetch(streams: Streams, onConnection: OnConnection = () => undefined): typeof fetch {
  return async (input, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers));
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const { body, signal } = init;
    const isStream = headers["content-type"] === streamType && pathname.startsWith(prefix);
    if (!isStream || !(body instanceof Uint8Array) || body.length > largestBodyBytes) return fetch(input, init);
    const path = pathname.slice(prefix.length) + search;
    return open(streams, { path, headers, body, signal: signal ?? undefined, onConnection });
  };
}

interface Call {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly signal: AbortSignal | undefined;
  readonly onConnection: OnConnection;
}

/** Resolves with the head of the response. A lost connection is a TypeError, as `fetch` reports it. */
function open(streams: Streams, { signal, onConnection, ...call }: Call): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const chunks = new ChunkQueue(() => stream.close());
  const fail = (error: unknown): void => {
    reject(error);
    chunks.end(error);
  };
  const stream = streams.call(call, {
    onStatus: (status, headers) => {
      if (status === 200) onConnection(true);
      resolve(
        new Response(
          chunks.stream((bytes) => stream.read(bytes)),
          { status, headers },
        ),
      );
    },
    onBytes: (bytes) => chunks.add(bytes),
    onEnd: ({ isDisconnected, message }) => {
      if (!isDisconnected && message === undefined) return chunks.end();
      onConnection(false);
      fail(new TypeError(message ?? "The connection was lost"));
    },
  });
  signal?.addEventListener("abort", () => {
    stream.close();
    fail(signal.reason);
  });
  return promise;
}

/** What has arrived and was not read yet. The server stops when this is a megabyte. */
class ChunkQueue {
  readonly #chunks: Uint8Array[] = [];
  readonly #onCancel: () => void;
  #end: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(onCancel: () => void) {
    this.#onCancel = onCancel;
  }

  add(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#wake();
  }

  /** What has arrived before can still be read. */
  end(error?: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  stream(onRead: (bytes: number) => void): ReadableStream<Uint8Array> {
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      while (this.#chunks.length === 0 && this.#end === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      const next = this.#chunks.shift();
      if (next !== undefined) {
        controller.enqueue(next);
        onRead(next.length);
      } else if (this.#end?.error === undefined) controller.close();
      else controller.error(this.#end.error);
    };
    return new ReadableStream({ pull, cancel: this.#onCancel }, { highWaterMark: 0 });
  }
}
