/** What pages of the allowed origins may send and read. */
export interface CorsRules {
  /** Pages below these domains belong to sandboxes and cannot be allowed. Default: none. */
  readonly sandboxDomains?: readonly string[];
  readonly methods: readonly string[];
  /** Request headers, besides those that every page may send. */
  readonly requestHeaders: readonly string[];
  /** Response headers, besides those that every page may read. */
  readonly responseHeaders: readonly string[];
}

export interface PreflightRequest {
  readonly method: string;
  readonly origin: string | undefined;
  /** `Access-Control-Request-Method`, which only preflight requests have. */
  readonly requestedMethod: string | undefined;
}

/** How long a browser may remember an answer. A page whose origin is no longer allowed can send requests until then, but read nothing. */
const maxAgeSeconds = 600;

/**
 * Cross-origin resource sharing for a list of exact origins. Credentials that a browser adds by itself are never allowed: a page must
 * have a token. Lists of headers have names and values in turn.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;
  readonly #rules: CorsRules;

  /** Throws if an origin cannot be allowed. */
  constructor(origins: readonly string[], rules: CorsRules) {
    for (const origin of origins) {
      const problem = originProblem(origin, rules.sandboxDomains ?? []);
      if (problem !== undefined) throw new Error(`Cannot allow an origin: ${problem}`);
    }
    this.#origins = new Set(origins);
    this.#rules = rules;
  }

  /** The headers that every response to a page of this origin needs. Undefined if the origin is not allowed. */
  headersFor(origin: string | undefined): string[] | undefined {
    if (origin === undefined || !this.#origins.has(origin)) return undefined;
    const exposed = this.#rules.responseHeaders.join(", ");
    const readable = exposed === "" ? [] : ["access-control-expose-headers", exposed];
    return ["access-control-allow-origin", origin, "vary", "Origin", ...readable];
  }

  /** The headers of the response to a preflight request. Undefined if it is not one, or if its origin is not allowed. */
  preflight({ method, origin, requestedMethod }: PreflightRequest): string[] | undefined {
    if (method !== "OPTIONS" || requestedMethod === undefined) return undefined;
    const { methods, requestHeaders } = this.#rules;
    return this.headersFor(origin)?.concat(
      ["access-control-allow-methods", methods.join(", ")],
      ["access-control-allow-headers", requestHeaders.join(", ")],
      ["access-control-max-age", String(maxAgeSeconds)],
    );
  }
}

/**
 * Why pages of this origin cannot be allowed, or undefined. An origin is a scheme, a host and a port, exactly as browsers send it.
 * Origins below `domains` are pages of sandboxes.
 */
export function originProblem(text: string, domains: readonly string[]): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.origin !== text || text.includes("*")) {
    return `"${text}" is not an origin such as https://app.example or http://localhost:5173`;
  }
  const domain = domains.find((each) => url.hostname.endsWith(`.${each}`));
  return domain === undefined ? undefined : `"${text}" is below ${domain}, the domain of sandboxes`;
}
