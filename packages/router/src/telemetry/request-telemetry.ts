import type { Logger } from "@agent-sandbox/kube";
import { context, propagation, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { ClientDisconnected } from "../request/cancellation.ts";
import { asRouterError, type RouterError } from "../router-error.ts";
import { type AccessRecord, clientDisconnectedStatus, nextRequestId } from "./access-record.ts";
import type { Metrics } from "./metrics.ts";

export interface RequestTelemetryOptions {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Whether to log each request. */
  readonly accessLog: boolean;
  /** Undefined: no tracing. */
  readonly tracer: Tracer | undefined;
}

const traceHeaders: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);

/** Writes metrics, access log and traces of requests. */
export class RequestTelemetry {
  readonly #options: RequestTelemetryOptions;
  readonly #spans = new WeakMap<AccessRecord, Span>();

  constructor(options: RequestTelemetryOptions) {
    this.#options = options;
  }

  begin(method: string, path: string, peer: string): AccessRecord {
    this.#options.metrics.begin();
    return {
      method,
      path,
      peer,
      startedMs: performance.now(),
      requestId: "",
      userAgent: undefined,
      namespace: "-",
      sandbox: undefined,
      by: undefined,
      status: 0,
      reason: undefined,
      bytesOut: 0,
    };
  }

  /** Starts a span of the router within the client's trace, and replaces the trace context in the headers by the span's. */
  trace(record: AccessRecord, headers: string[]): string[] {
    const { tracer } = this.#options;
    if (tracer === undefined) return headers;
    const carried = Object.fromEntries(pairs(headers).filter(([name]) => traceHeaders.has(name)));
    const parent = propagation.extract(context.active(), carried);
    const attributes = {
      "http.method": record.method,
      "http.target": record.path,
      "sandbox.namespace": record.namespace,
    };
    // A repeated request keeps its span.
    const known = this.#spans.get(record);
    const span = known ?? tracer.startSpan(`HTTP ${record.method}`, { kind: SpanKind.SERVER, attributes }, parent);
    if (record.sandbox !== undefined) span.setAttribute("sandbox.id", record.sandbox);
    this.#spans.set(record, span);
    const injected: Record<string, string> = {};
    propagation.inject(trace.setSpan(parent, span), injected);
    const rest = headers.filter(
      (_, index) => !traceHeaders.has((headers[index - (index % 2)] as string).toLowerCase()),
    );
    return [
      ...rest,
      ...Object.entries(injected)
        .filter(([name]) => name !== "baggage")
        .flat(),
    ];
  }

  /**
   * Records why a request failed and returns the error to send, or undefined if the client has disconnected. The cause is
   * only logged. A response that has begun keeps its status.
   */
  failed(
    record: AccessRecord,
    error: unknown,
    { hasBegun = false }: { readonly hasBegun?: boolean } = {},
  ): RouterError | undefined {
    if (error instanceof ClientDisconnected) {
      record.status = clientDisconnectedStatus;
      record.reason = "ClientClosedRequest";
      return undefined;
    }
    const refusal = asRouterError(error);
    const { reason, cause } = refusal;
    record.reason = reason;
    if (!hasBegun) record.status = refusal.status;
    if (record.requestId === "") record.requestId = nextRequestId();
    const { log } = this.#options;
    const fields = { requestId: record.requestId, sandbox: record.sandbox, reason, err: cause };
    if (reason === "Internal") log.error(fields, "request failed");
    else if (cause !== undefined) log.debug(fields, "request failed");
    return refusal;
  }

  finish(record: AccessRecord): void {
    const { metrics, accessLog, log } = this.#options;
    const durationMs = performance.now() - record.startedMs;
    metrics.finish(record, durationMs / 1000);
    const span = this.#spans.get(record);
    if (span !== undefined) endSpan(span, record);
    if (accessLog) log.info(accessFields(record, durationMs, span), "request");
  }
}

function endSpan(span: Span, { status }: AccessRecord): void {
  span.setAttribute("http.status_code", status);
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function accessFields(record: AccessRecord, durationMs: number, span: Span | undefined): object {
  const { method, path, status, peer, sandbox, namespace, bytesOut, userAgent, requestId, reason } = record;
  const { traceId, spanId } = span?.spanContext() ?? {};
  return {
    logger: "sandbox-router.access",
    method,
    path,
    status,
    duration_ms: Math.round(durationMs * 1000) / 1000,
    client_ip: peer,
    sandbox_id: sandbox,
    sandbox_namespace: namespace,
    bytes_out: bytesOut,
    user_agent: userAgent,
    request_id: requestId,
    reason,
    trace_id: traceId,
    span_id: spanId,
  };
}

function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let index = 0; index < flat.length; index += 2) {
    found.push([(flat[index] as string).toLowerCase(), flat[index + 1] as string]);
  }
  return found;
}
