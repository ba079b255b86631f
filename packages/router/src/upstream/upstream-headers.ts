import type { Target } from "../cluster/target.ts";
import { epochHeaders } from "../proxy/epoch-header.ts";
import type { Exchange } from "../request/exchange.ts";
import type { RequestTelemetry } from "../telemetry/request-telemetry.ts";
import { isRuntimePort, needsRuntimeToken, type RuntimeTokens } from "./runtime-tokens.ts";

export interface UpstreamHeadersOptions {
  readonly runtimeTokens: RuntimeTokens;
  readonly telemetry: RequestTelemetry;
}

/** Builds the headers of the request to the sandbox. */
export class UpstreamHeaders {
  readonly #options: UpstreamHeadersOptions;

  constructor(options: UpstreamHeadersOptions) {
    this.#options = options;
  }

  /** Names and values alternate. A promise only if the token of an injected runtime is needed. */
  build({ client, request, record }: Exchange, target: Target): string[] | Promise<string[]> {
    const { runtimeTokens, telemetry } = this.#options;
    const { head, host, proxyAuthorization } = request;
    const { peer, isSecure } = client.connectionInfo;
    const isForRuntime = needsRuntimeToken(target.sandbox, target.port);
    // A request to a runtime may be sent twice, so its list of headers is copied.
    const headers = isForRuntime ? [...head.pass] : head.pass;
    headers.push("x-forwarded-for", peer, "x-forwarded-proto", isSecure ? "https" : "http");
    if (host !== undefined) headers.push("x-forwarded-host", host);
    if (target.epoch !== undefined) headers.push(...epochHeaders(target.epoch));
    // A runtime keeps the result of a request that has an id, for the client to fetch again. Only the client's own id can be fetched.
    if (head.requestId === undefined && !isRuntimePort(target.port)) headers.push("x-request-id", record.requestId);
    // A client that gives the router a credential in another header means `Authorization` for the sandbox.
    const isKept = (head.ownAuthorization ?? proxyAuthorization) !== undefined || head.forwardAuthorization;
    if (isKept && head.authorization !== undefined) headers.push("authorization", head.authorization);
    if (!isForRuntime) return telemetry.trace(record, headers);
    return runtimeTokens.headersFor(target.sandbox).then((own) => telemetry.trace(record, [...headers, ...own]));
  }
}
