import type { Duplex } from "node:stream";
import { type ForwardedPort, parsePort } from "./forward-port.ts";
import { SpdyConnection } from "./spdy/spdy-connection.ts";
import type { SpdyStream } from "./spdy/spdy-stream.ts";

/** How long to wait for the second stream of a pair. */
const pairWithinMs = 30_000;

interface Half {
  readonly stream: SpdyStream;
  readonly type: "data" | "error";
  readonly timer: NodeJS.Timeout;
}

/**
 * Forwards ports over SPDY: a client opens two streams for each connection, one for data and one for errors, with the same
 * request ID. The maximum number of streams on a connection bounds the number of pairs.
 */
export class SpdyPortForward {
  readonly connection: SpdyConnection;
  readonly #halves = new Map<string, Half>();
  readonly #onPort: (forwarded: ForwardedPort) => void;

  constructor(transport: Duplex, onPort: (forwarded: ForwardedPort) => void) {
    this.#onPort = onPort;
    this.connection = new SpdyConnection(transport, { onStream: (stream) => this.#add(stream) });
  }

  #add(stream: SpdyStream): void {
    const type = stream.headers.get("streamtype");
    const port = parsePort(stream.headers.get("port"));
    if ((type !== "data" && type !== "error") || port === undefined) return void stream.destroy();
    const id = stream.headers.get("requestid") ?? String(type === "error" ? stream.id : stream.id - 2);
    const other = this.#halves.get(id);
    if (other === undefined) {
      const timer = setTimeout(() => stream.destroy(), pairWithinMs);
      this.#halves.set(id, { stream, type, timer });
      stream.once("close", () => this.#drop(id, stream));
      return;
    }
    if (other.type === type) return void stream.destroy();
    this.#drop(id, other.stream);
    const [data, error] = type === "data" ? [stream, other.stream] : [other.stream, stream];
    error.resume();
    this.#onPort({ port, input: data, output: data, error });
  }

  #drop(id: string, stream: SpdyStream): void {
    const half = this.#halves.get(id);
    if (half?.stream !== stream) return;
    clearTimeout(half.timer);
    this.#halves.delete(id);
  }
}
