import type { Deadline } from "../deadline.ts";
import { type ErrorReason, SandboxError } from "../errors.ts";
import { type HttpBody, type HttpResponse, readText } from "../http/exchange.ts";
import { requestId } from "../request-id.ts";
import type { Router, Target } from "./router.ts";

const port = 8080;

/** How long a stream may be silent before sandboxd sends a `keepalive` event. The router ends a silent one after three minutes. */
export const keepAliveSeconds = 60;

export interface RestCall {
  readonly doing: string;
  readonly deadline: Deadline;
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Below `/v1`, without the query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpBody;
  /** Absent: the runtime recognises a repeated request by its id. False for calls that it does not remember. */
  readonly isRepeatable?: boolean;
}

/** Calls the REST API of sandboxd. */
export function callRest(router: Router, target: Target, call: RestCall): Promise<HttpResponse> {
  const { doing, deadline, method, body, isRepeatable = true } = call;
  const path = `/v1${call.path}${queryOf(call.query)}`;
  const headers = { ...(method !== "GET" && method !== "HEAD" && { "x-request-id": requestId() }), ...call.headers };
  const refuse = (response: HttpResponse, text: string): SandboxError => errorOf(response, text, doing);
  const request = { doing, deadline, port, method, path, headers, isRepeatable, refuse };
  return router.request(target, { ...request, ...(body !== undefined && { body }) });
}

export async function callJson<T>(
  router: Router,
  target: Target,
  call: RestCall & { readonly json?: object },
): Promise<T> {
  const { json, ...rest } = call;
  const content =
    json === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(json) };
  const response = await callRest(router, target, { ...rest, ...content });
  const text = await readText(response.body);
  return (text === "" ? {} : JSON.parse(text)) as T;
}

function queryOf(query: RestCall["query"] = {}): string {
  const set = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return set.length === 0 ? "" : `?${new URLSearchParams(set).toString()}`;
}

const reasons: Readonly<Record<string, ErrorReason>> = {
  INVALID_ARGUMENT: "InvalidArgument",
  UNAUTHENTICATED: "Unauthenticated",
  MISDIRECTED: "NotFound",
  PERMISSION_DENIED: "Forbidden",
  NOT_FOUND: "NotFound",
  CONFLICT: "Conflict",
  FAILED_PRECONDITION: "Conflict",
  OUTCOME_UNKNOWN: "OutcomeUnknown",
  TOO_LARGE: "LimitExceeded",
  RESOURCE_EXHAUSTED: "LimitExceeded",
  UNAVAILABLE: "Unreachable",
};

/** A response to HEAD has no body. */
const byStatus: Readonly<Record<number, ErrorReason>> = {
  403: "Forbidden",
  404: "NotFound",
  405: "Unsupported",
  412: "Conflict",
};

function errorOf({ status }: HttpResponse, body: string, doing: string): SandboxError {
  const { code, message } = parse(body);
  // The runtime says itself what it could not do.
  const text = message ?? `${doing}: the sandbox answered ${status}`;
  const reason = reasons[code ?? ""] ?? byStatus[status] ?? "Internal";
  return new SandboxError(reason, text, { status, body, ...(code !== undefined && { serverReason: code }) });
}

function parse(body: string): { readonly code?: string; readonly message?: string } {
  try {
    return JSON.parse(body) as { code?: string; message?: string };
  } catch {
    return {};
  }
}
