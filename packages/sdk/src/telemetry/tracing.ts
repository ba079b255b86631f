import { isSandboxError } from "../errors.ts";

/** The parts of the module `@opentelemetry/api` that the SDK uses. */
export interface OpenTelemetry {
  readonly trace: {
    getTracer(name: string): Tracer;
    setSpan(context: object, span: Span): object;
  };
  readonly context: {
    active(): object;
    with<T>(context: object, run: () => T): T;
  };
}

interface Tracer {
  startSpan(name: string, options: { kind: number; attributes: Record<string, string> }): Span;
}

interface Span {
  spanContext(): {
    readonly traceId: string;
    readonly spanId: string;
    readonly traceFlags: number;
    readonly traceState?: { serialize(): string } | undefined;
  };
  setAttribute(name: string, value: string): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** Headers of W3C Trace Context. */
export type TraceHeaders = Readonly<Record<string, string>>;

export interface SpanOptions {
  /** For example `files.read`. */
  readonly name: string;
  readonly sandbox?: { readonly name: string; readonly namespace: string };
}

/** The values of OpenTelemetry's enumerations. */
const clientKind = 2;
const errorStatus = 2;

/** Starts the spans of operations. */
export class Tracing {
  readonly #api: OpenTelemetry;

  constructor(api: OpenTelemetry) {
    this.#api = api;
  }

  /** A child of the caller's active span. Undefined if the program has set no tracer provider. */
  start({ name, sandbox }: SpanOptions): OperationSpan | undefined {
    // The same names as in the spans of the router.
    const attributes = sandbox && { "sandbox.id": sandbox.name, "sandbox.namespace": sandbox.namespace };
    const tracer = this.#api.trace.getTracer("@agent-sandbox/sdk");
    const span = tracer.startSpan(`sandbox.${name}`, { kind: clientKind, attributes: attributes ?? {} });
    return /^0*$/.test(span.spanContext().traceId) ? undefined : new OperationSpan(this.#api, span);
  }
}

/** The span of one operation. */
export class OperationSpan {
  readonly #api: OpenTelemetry;
  readonly #span: Span;

  constructor(api: OpenTelemetry, span: Span) {
    this.#api = api;
    this.#span = span;
  }

  /** Sent with each request of the operation. */
  get headers(): TraceHeaders {
    const { traceId, spanId, traceFlags, traceState } = this.#span.spanContext();
    const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
    const tracestate = traceState?.serialize() ?? "";
    return { traceparent, ...(tracestate !== "" && { tracestate }) };
  }

  /** Runs a function whose own spans become children of this one. */
  run<T>(work: () => T): T {
    const { trace, context } = this.#api;
    return context.with(trace.setSpan(context.active(), this.#span), work);
  }

  /** Messages can contain names of files, so only the reason is recorded. */
  fail(error: unknown): void {
    const reason = isSandboxError(error) ? error.reason : "Cancelled";
    this.#span.setAttribute("error.type", reason);
    this.#span.setStatus({ code: errorStatus, message: reason });
  }

  end(): void {
    this.#span.end();
  }
}
