import type { Logger } from "@agent-sandbox/kube";
import { context, propagation, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { CallerGone } from "../proxy/cancellation.ts";
import { asRouterError, type RouterError } from "../router-error.ts";
import type { Metrics } from "./metrics.ts";
import { callerGoneStatus, nextRequestId, type Visit } from "./visit.ts";

export interface ObserverOptions {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** One line per request. */
  readonly accessLog: boolean;
  /** No spans when absent. */
  readonly tracer: Tracer | undefined;
}

const traceHeaders: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);

/** Counts, logs and traces requests. */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #spans = new WeakMap<Visit, Span>();

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  begin(method: string, path: string, peer: string): Visit {
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

  /** The caller's trace goes on in a span of the router's, whose context replaces the caller's in the headers. */
  trace(visit: Visit, headers: string[]): string[] {
    const { tracer } = this.#options;
    if (tracer === undefined) return headers;
    const carried = Object.fromEntries(pairs(headers).filter(([name]) => traceHeaders.has(name)));
    const parent = propagation.extract(context.active(), carried);
    const attributes = { "http.method": visit.method, "http.target": visit.path, "sandbox.namespace": visit.namespace };
    // What is sent a second time is still one visit.
    const known = this.#spans.get(visit);
    const span = known ?? tracer.startSpan(`HTTP ${visit.method}`, { kind: SpanKind.SERVER, attributes }, parent);
    if (visit.sandbox !== undefined) span.setAttribute("sandbox.id", visit.sandbox);
    this.#spans.set(visit, span);
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
   * Why a request failed, as the answer to it; undefined for a caller that has left. What is behind it stays here. Half an
   * answer keeps the status it began with.
   */
  failed(
    visit: Visit,
    error: unknown,
    { hasBegun = false }: { readonly hasBegun?: boolean } = {},
  ): RouterError | undefined {
    if (error instanceof CallerGone) {
      visit.status = callerGoneStatus;
      visit.reason = "CallerGone";
      return undefined;
    }
    const refusal = asRouterError(error);
    const { reason, cause } = refusal;
    visit.reason = reason;
    if (!hasBegun) visit.status = refusal.status;
    if (visit.requestId === "") visit.requestId = nextRequestId();
    const { log } = this.#options;
    const fields = { requestId: visit.requestId, sandbox: visit.sandbox, reason, err: cause };
    if (reason === "Internal") log.error(fields, "request failed");
    else if (cause !== undefined) log.debug(fields, "request failed");
    return refusal;
  }

  finish(visit: Visit): void {
    const { metrics, accessLog, log } = this.#options;
    const durationMs = performance.now() - visit.startedMs;
    metrics.finish(visit, durationMs / 1000);
    const span = this.#spans.get(visit);
    if (span !== undefined) endSpan(span, visit);
    if (accessLog) log.info(accessFields(visit, durationMs, span), "request");
  }
}

function endSpan(span: Span, { status }: Visit): void {
  span.setAttribute("http.status_code", status);
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function accessFields(visit: Visit, durationMs: number, span: Span | undefined): object {
  const { method, path, status, peer, sandbox, namespace, bytesOut, userAgent, requestId, reason } = visit;
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
