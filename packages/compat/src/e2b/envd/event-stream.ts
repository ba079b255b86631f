import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { encodeFrame, endFlag } from "../../connect/envelope.ts";
import type { RpcError } from "../../connect/rpc-error.ts";

/** Writes a Connect stream. While nothing else is sent for some time, it sends keep-alive messages. */
export class EventStream implements Disposable {
  readonly #response: ServerResponse;
  readonly #keepAlive: object;
  readonly #timer: NodeJS.Timeout;

  constructor(
    response: ServerResponse,
    { everyMs, keepAlive }: { readonly everyMs: number; readonly keepAlive: object },
  ) {
    this.#response = response;
    this.#keepAlive = keepAlive;
    response.writeHead(200, { "content-type": "application/connect+json" });
    response.flushHeaders();
    this.#timer = setInterval(() => {
      // A client that does not read gets no more of them.
      if (!response.writableNeedDrain) this.#write(encodeFrame(this.#keepAlive));
    }, everyMs);
  }

  /** Waits if the client reads more slowly than messages are sent. */
  async send(message: object, signal: AbortSignal): Promise<void> {
    this.#timer.refresh();
    if (!this.#write(encodeFrame(message))) await once(this.#response, "drain", { signal });
  }

  end(error?: RpcError): void {
    this.#response.end(encodeFrame(error === undefined ? {} : { error: error.body }, endFlag));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #write(frame: Buffer): boolean {
    return this.#response.writableEnded || this.#response.destroyed || this.#response.write(frame);
  }
}

const usualSeconds = 90;

/** `Keepalive-Ping-Interval`, in seconds. */
export function keepAliveMs(header: string | string[] | undefined): number {
  const seconds = Number(header ?? usualSeconds);
  const isUsable = Number.isFinite(seconds) && seconds >= 1 && seconds <= usualSeconds;
  return (isUsable ? seconds : usualSeconds) * 1000;
}
