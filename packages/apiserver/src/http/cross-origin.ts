import type { IncomingMessage, ServerResponse } from "node:http";
import { Cors, type CorsRules } from "@agent-sandbox/api";

/** What the TypeScript SDK sends. */
const rules: CorsRules = {
  methods: ["DELETE", "GET", "PATCH", "POST"],
  requestHeaders: ["authorization", "content-type", "traceparent", "tracestate"],
  responseHeaders: [],
};

/** Lets pages of the allowed origins call the API with a token. */
export class CrossOrigin {
  readonly #cors: Cors;

  /** Throws if an origin is not valid. */
  constructor(origins: readonly string[]) {
    this.#cors = new Cors(origins, rules);
  }

  /** Answers a preflight request, which has no credential. Otherwise returns false, and the response gets headers that let the page read it. */
  answersPreflight({ method = "", headers }: IncomingMessage, response: ServerResponse): boolean {
    const { origin, "access-control-request-method": requestedMethod } = headers;
    if (origin === undefined) return false;
    const preflight = this.#cors.preflight({ method, origin, requestedMethod });
    const allowed = preflight ?? this.#cors.headersFor(origin) ?? [];
    for (let index = 0; index < allowed.length; index += 2) {
      response.setHeader(allowed[index] as string, allowed[index + 1] as string);
    }
    if (preflight === undefined) return false;
    response.writeHead(204).end();
    return true;
  }
}
