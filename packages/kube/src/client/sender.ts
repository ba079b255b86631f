import type { Clock } from "../clock.ts";
import { KubeError } from "../errors.ts";
import type { StreamResponse, Transport, TransportRequest, TransportResponse } from "../transport.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { readRetryAfter } from "./retry-after.ts";
import { readWarnings } from "./warnings.ts";

/** With waits of 1, 2, 4 and 8 s if the server gives none: 15 s in total, then the caller decides. */
const maxRetries = 4;
/** If the server asks for a longer wait, the error is returned to the caller, which can do other work meanwhile. */
const longestRetryAfterMs = 10_000;

export interface SenderOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly limiter?: RateLimiter | undefined;
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** Sends requests within the rate limit. Retries only requests that the server rejected without processing them. */
export class Sender {
  readonly #transport: Transport;
  readonly #options: SenderOptions;

  constructor(transport: Transport, options: SenderOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  send(request: TransportRequest): Promise<TransportResponse> {
    return this.#repeat(request, () => this.#transport.send(request));
  }

  stream(request: TransportRequest): Promise<StreamResponse> {
    return this.#repeat(request, () => this.#transport.stream(request));
  }

  async #repeat<R extends { status: number; headers: Readonly<Record<string, string>> }>(
    request: TransportRequest,
    attempt: () => Promise<R>,
  ): Promise<R> {
    const { clock, limiter, onWarning } = this.#options;
    const { signal } = request;
    for (let retries = 0; ; retries += 1) {
      await limiter?.take(signal);
      const response = await attempt();
      if (onWarning) for (const text of readWarnings(response.headers["warning"])) onWarning(text);
      const waitMs = this.#waitBefore(retries, response);
      if (waitMs === undefined) return response;
      await clock.sleep(waitMs, signal);
      if (signal?.aborted) {
        const message = `Cannot ${request.method} "${request.path}": the request was cancelled while the server was busy`;
        throw new KubeError("Unreachable", message, { cause: signal.reason });
      }
    }
  }

  /** Undefined if the response is final. Jitter is added, so that a retry is never earlier than the server asked. */
  #waitBefore(retries: number, response: Pick<TransportResponse, "status" | "headers">): number | undefined {
    const askedMs = readRetryAfter(response.headers["retry-after"]);
    const isUnprocessed = response.status === 429 || (response.status === 503 && askedMs !== undefined);
    if (!isUnprocessed || retries >= maxRetries) return undefined;
    const waitMs = askedMs ?? 1000 * 2 ** retries;
    return waitMs > longestRetryAfterMs ? undefined : waitMs * (1 + this.#options.random() / 4);
  }
}
