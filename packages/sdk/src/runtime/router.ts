import type { Deadline } from "../deadline.ts";
import { type ErrorReason, SandboxError } from "../errors.ts";
import { type HttpBody, type HttpResponse, isReading, readErrorText, type SendHttp } from "../http/exchange.ts";
import { retry, TransientError } from "../retry.ts";
import type { Tracing } from "../telemetry/tracing.ts";

/** Where the router is, and the credential for it. */
export interface RouterAccess {
  readonly url: string;
  authorize(isRefused: boolean): Promise<Readonly<Record<string, string>>>;
}

/** The sandbox that a request is for. With a UID, a later sandbox of the same name does not get it. */
export interface Target {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
}

export interface RouterCall {
  /** The beginning of the error message. */
  readonly doing: string;
  readonly deadline: Deadline;
  readonly port: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpBody;
  /** See `RetryOptions`. */
  readonly isRepeatable: boolean;
  /** Turns an unsuccessful response of the sandbox into an error. Not called for errors of the router. */
  readonly refuse: (response: HttpResponse, body: string) => SandboxError;
}

/** Sends requests to sandboxes. Wakes those that sleep. */
export class Router {
  /** Undefined if the program cannot collect traces. */
  readonly tracing: Tracing | undefined;
  readonly #send: SendHttp;
  readonly #access: RouterAccess;

  constructor(send: SendHttp, access: RouterAccess, tracing?: Tracing) {
    this.#send = send;
    this.#access = access;
    this.tracing = tracing;
  }

  get url(): string {
    return this.#access.url;
  }

  /** Returns a successful response. */
  request(target: Target, call: RouterCall): Promise<HttpResponse> {
    const startedAt = Date.now();
    let isRefused = false;
    const attempt = async (number: number): Promise<HttpResponse> => {
      const response = await this.#exchange(target, call, {
        isRefused,
        ageMs: number === 1 ? undefined : Date.now() - startedAt,
      });
      if (response.status < 400) return response;
      const error = await this.#errorOf(response, target, call);
      if (error.reason !== "Unauthenticated" || isRefused) throw error;
      isRefused = true;
      return attempt(number + 1);
    };
    const { deadline, doing, method } = call;
    // A stream was consumed by the first attempt.
    const isRepeatable = call.isRepeatable && !isStream(call.body);
    return retry(attempt, { deadline, doing, isRepeatable, isRead: isReading(method) });
  }

  /** Calls the API of the router itself. */
  control(call: Pick<RouterCall, "doing" | "deadline" | "method" | "path" | "body">): Promise<HttpResponse> {
    const { doing, deadline, method, path, body } = call;
    const attempt = async (): Promise<HttpResponse> => {
      const credential = await this.#access.authorize(false);
      const headers = { "content-type": "application/json", ...deadline.headers, ...credential };
      const url = `${this.#access.url}${path}`;
      const response = await this.#send({
        method,
        url,
        headers,
        signal: deadline.signal,
        ...(body !== undefined && { body }),
      });
      if (response.status < 400) return response;
      const text = await readErrorText(response);
      const message = `${doing}: ${detailOf(text) ?? `the router answered ${response.status}`}`;
      const other = new SandboxError("Internal", message, { status: response.status, body: text });
      throw refusalOf(response, text, message) ?? other;
    };
    return retry(attempt, { deadline, doing, isRepeatable: true, isRead: isReading(method) });
  }

  async #exchange(
    target: Target,
    { method, path, port, headers, body, deadline }: RouterCall,
    { isRefused, ageMs }: { readonly isRefused: boolean; readonly ageMs: number | undefined },
  ): Promise<HttpResponse> {
    return this.#send({
      method,
      url: `${this.#access.url}${path}`,
      headers: {
        "x-sandbox-id": target.name,
        "x-sandbox-namespace": target.namespace,
        "x-sandbox-port": String(port),
        ...(target.uid !== undefined && { "x-sandbox-uid": target.uid }),
        // A sandbox that has restarted since the first attempt refuses the call: it may have run before.
        ...(ageMs !== undefined && { "x-request-age": String(ageMs) }),
        ...deadline.headers,
        ...headers,
        ...(await this.#access.authorize(isRefused)),
      },
      signal: deadline.signal,
      ...(body !== undefined && { body }),
    });
  }

  async #errorOf(response: HttpResponse, target: Target, { refuse, doing }: RouterCall): Promise<SandboxError> {
    const body = await readErrorText(response);
    const text = `${doing}: ${detailOf(body) ?? `sandbox "${target.name}" answered ${response.status}`}`;
    return refusalOf(response, body, text) ?? refuse(response, body);
  }
}

/** The error of a response of the router itself. Undefined if the response came from the sandbox. */
function refusalOf(response: HttpResponse, body: string, text: string): SandboxError | undefined {
  const serverReason = response.header("x-sandbox-reason");
  if (serverReason === undefined) return undefined;
  const { reason, sent } = known[serverReason] ?? { reason: "Internal" };
  const details = { status: response.status, body, serverReason };
  return sent === undefined
    ? new SandboxError(reason, text, details)
    : new TransientError(reason, text, { ...details, sent });
}

interface Known {
  readonly reason: ErrorReason;
  /** Set for failures that may be over soon. */
  readonly sent?: boolean;
}

/** The errors of the router itself, by the reason in its header. */
const known: Readonly<Record<string, Known>> = {
  InvalidRequest: { reason: "InvalidArgument" },
  Unauthenticated: { reason: "Unauthenticated" },
  Forbidden: { reason: "Forbidden" },
  SandboxNotFound: { reason: "NotFound" },
  SandboxSuspended: { reason: "Suspended" },
  SandboxExpired: { reason: "NotFound" },
  BodyTooLarge: { reason: "LimitExceeded" },
  HeadersTooLarge: { reason: "LimitExceeded" },
  CallerLimit: { reason: "LimitExceeded", sent: false },
  SandboxLimit: { reason: "LimitExceeded", sent: false },
  TooManyWaitingRequests: { reason: "LimitExceeded", sent: false },
  Refused: { reason: "Unreachable", sent: false },
  Unreachable: { reason: "Unreachable", sent: false },
  Unverified: { reason: "Unreachable", sent: false },
  NotSynced: { reason: "Unreachable", sent: false },
  BadUpstream: { reason: "Unreachable", sent: true },
  SandboxStopped: { reason: "Unreachable", sent: true },
  Timeout: { reason: "TimedOut", sent: true },
  SandboxStarting: { reason: "Starting", sent: false },
  Unschedulable: { reason: "Failed" },
  ImageUnavailable: { reason: "Failed" },
  SandboxCrashing: { reason: "Failed" },
  SandboxFinished: { reason: "Failed" },
  WakeFailed: { reason: "Failed" },
};

function detailOf(body: string): string | undefined {
  try {
    const { detail } = JSON.parse(body) as { detail?: unknown };
    return typeof detail === "string" ? detail : undefined;
  } catch {
    return undefined;
  }
}

function isStream(body: HttpBody | undefined): boolean {
  return body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
}
