import type { ServerContext } from "@modelcontextprotocol/server";
import { visible } from "./results/visible.ts";

const intervalMs = 1000;
const longestMessage = 200;

/** Sends progress of one call, at most once per second. Sends nothing to clients that did not ask for it. */
export class Progress implements Disposable {
  readonly #token: string | number | undefined;
  readonly #notify: ServerContext["mcpReq"]["notify"];
  #number = 0;
  #lastMs = 0;
  #pending: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor({ mcpReq }: ServerContext) {
    this.#token = mcpReq._meta?.progressToken;
    this.#notify = mcpReq.notify;
  }

  report(message: string): void {
    if (this.#token === undefined || this.#isOver) return;
    this.#pending = message;
    this.#timer ??= setTimeout(() => this.#send(), Math.max(0, this.#lastMs + intervalMs - Date.now())).unref();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #send(): void {
    this.#timer = undefined;
    this.#lastMs = Date.now();
    const message = visible((this.#pending ?? "").trim()).slice(-longestMessage);
    const params = { progressToken: this.#token ?? "", progress: ++this.#number, message };
    // The client may be gone. The call then ends by its signal.
    void this.#notify({ method: "notifications/progress", params }).catch(() => undefined);
  }
}
