import { keyOf } from "@agent-sandbox/kube";
import type { Caller } from "../auth/caller.ts";
import type { ConnectionLimit } from "../listen/connection-limit.ts";
import { RouterError } from "../router-error.ts";
import type { ConcurrencyLimits } from "./concurrency-limits.ts";
import type { Exchange } from "./exchange.ts";

export interface AdmissionOptions {
  readonly limits: ConcurrencyLimits;
  readonly connections: ConnectionLimit;
  /** 0: no limit. */
  readonly maxBodyBytes: number;
}

/** Applies the limits on concurrent requests and on the size of a request. */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Counts the request until the exchange ends. Throws if a limit is reached. */
  admit(exchange: Exchange, caller: Caller): void {
    const { limits, connections, maxBodyBytes } = this.#options;
    const { client, request, route, sandboxUid } = exchange;
    // A claim that has no Sandbox yet is counted by its name.
    const sandbox = sandboxUid ?? keyOf(route);
    const isLong = client.upgrade !== undefined;
    exchange.use(limits.acquire({ namespace: route.namespace, sandbox, caller: caller.id, isLong }));
    exchange.use(connections.markBusy(client.connectionInfo.key));
    if (isLonger(request.head.contentLength, maxBodyBytes)) {
      throw new RouterError("BodyTooLarge", "The request body is too large.");
    }
  }
}

function isLonger(contentLength: string | undefined, maxBytes: number): boolean {
  return maxBytes > 0 && contentLength !== undefined && Number(contentLength) > maxBytes;
}
