import { Cors, type CorsRules } from "@agent-sandbox/api";
import type { ClientRequest } from "../request/client-request.ts";
import type { ParsedRequest } from "../request/parse-request.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";

/** What the TypeScript SDK sends and reads. */
const rules: CorsRules = {
  methods: ["DELETE", "GET", "HEAD", "POST", "PUT"],
  requestHeaders: [
    "authorization",
    "connect-protocol-version",
    "content-type",
    "if-match",
    "if-none-match",
    "range",
    "traceparent",
    "tracestate",
    "x-request-age",
    "x-request-id",
    "x-sandbox-id",
    "x-sandbox-namespace",
    "x-sandbox-port",
    "x-sandbox-uid",
  ],
  responseHeaders: ["x-file-mode", "x-more-entries", "x-request-id", "x-sandbox-reason"],
};

/**
 * Lets pages of the allowed origins use the router, on the router's own host names only. A sandbox's own host name belongs to the
 * sandbox: there the router neither answers preflight requests nor changes what the sandbox allows.
 */
export class CrossOrigin {
  readonly #cors: Cors;

  /** Throws if an origin is not valid, or is that of a sandbox. */
  constructor(origins: readonly string[], sandboxDomains: readonly string[]) {
    this.#cors = new Cors(origins, { ...rules, sandboxDomains });
  }

  /**
   * Answers a preflight request, which has no credential and names no sandbox with a header. Nothing is looked up or woken for it.
   * Otherwise returns false, and the response gets the headers that let the page read it.
   */
  answersPreflight(
    { method, upgrade, body, response }: ClientRequest,
    request: ParsedRequest,
    record: AccessRecord,
  ): boolean {
    const { head, route } = request;
    const { origin, requestedMethod } = head;
    if (origin === undefined || upgrade !== undefined || route?.by === "host") return false;
    const preflight = route?.by === "header" ? undefined : this.#cors.preflight({ method, origin, requestedMethod });
    if (preflight === undefined) {
      response.addHeaders(this.#cors.headersFor(origin) ?? []);
      return false;
    }
    record.status = 204;
    body?.abandon();
    response.begin({ status: 204, headers: preflight, body: "none" });
    response.end();
    return true;
  }
}
