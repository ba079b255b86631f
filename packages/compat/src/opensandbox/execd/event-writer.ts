import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Clients wait for the next event without a limit, but proxies between do not. */
const pingMs = 3000;

/** The events of one execution, as server-sent events. */
export class EventWriter implements Disposable {
  readonly #response: ServerResponse;
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse, signal: AbortSignal, options: { readonly pings: boolean }) {
    this.#response = response;
    this.#signal = signal;
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.flushHeaders();
    // A client that does not read gets no more of them.
    const ping = (): unknown => response.writableNeedDrain || this.#write({ type: "ping", text: "pong" });
    this.#timer = options.pings ? setInterval(ping, pingMs) : undefined;
  }

  /** Waits if the client reads more slowly than events are sent. */
  async send(event: { readonly type: string; readonly [field: string]: unknown }): Promise<void> {
    this.#timer?.refresh();
    if (!this.#write(event)) await once(this.#response, "drain", { signal: this.#signal });
  }

  end(): void {
    this.#response.end();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #write(event: object): boolean {
    const { writableEnded, destroyed } = this.#response;
    const line = `data: ${JSON.stringify({ ...event, timestamp: Date.now() })}\n\n`;
    return writableEnded || destroyed || this.#response.write(line);
  }
}
