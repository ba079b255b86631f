import { once } from "node:events";
import type { ServerResponse } from "node:http";

const keepAliveMs = 5000;

/**
 * The answer to an execution: one JSON value per line. A client decodes each network chunk on its own, so characters beyond ASCII are
 * escaped: none of them can be cut.
 */
export class CodeLines implements Disposable {
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, { "content-type": "application/json" });
    // The limits of clients for a run begin with the headers.
    response.flushHeaders();
    this.#timer = setInterval(() => {
      // A client that does not read gets no more of them.
      if (!response.writableNeedDrain) this.#write({ type: "keepalive" });
    }, keepAliveMs);
  }

  async send(line: object, signal: AbortSignal): Promise<void> {
    this.#timer.refresh();
    if (!this.#write(line)) await once(this.#response, "drain", { signal });
  }

  end(): void {
    this.#response.end();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #write(line: object): boolean {
    return this.#response.destroyed || this.#response.write(`${asciiJson(line)}\n`);
  }
}

export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u0080-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

export const errorLine = (name: string, value: string, traceback: string): object => ({
  type: "error",
  name,
  value,
  traceback,
});
