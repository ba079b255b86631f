import { traceContextAnnotation } from "@agent-sandbox/api";
import type { KubeObject } from "@agent-sandbox/kube";
import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  trace,
} from "@opentelemetry/api";

/** Where spans are sent, and how a trace context is propagated between processes. */
export interface Tracing {
  readonly tracer: Tracer;
  readonly propagator: TextMapPropagator;
}

/** The span of one pass over one object, in the trace that the object belongs to, with a child span for each part. */
export class PassTrace {
  readonly #tracing: Tracing;
  readonly #context: Context;
  readonly #span: Span;
  readonly #parts = new Map<string, Span>();

  private constructor(tracing: Tracing, context: Context, span: Span) {
    this.#tracing = tracing;
    this.#context = context;
    this.#span = span;
  }

  /** Undefined without tracing. An annotation that cannot be parsed is reported to `onMalformed` and ignored. */
  static begin(
    tracing: Tracing | undefined,
    subject: { readonly object: KubeObject; readonly name: string; readonly attributes: Attributes },
    onMalformed: (error: unknown) => void,
  ): PassTrace | undefined {
    if (tracing === undefined) return undefined;
    const { tracer, propagator } = tracing;
    const parent = propagator.extract(ROOT_CONTEXT, headersOf(subject.object, onMalformed), defaultTextMapGetter);
    const span = tracer.startSpan(subject.name, { attributes: subject.attributes }, parent);
    return new PassTrace(tracing, trace.setSpan(parent, span), span);
  }

  /** The annotation that makes an object part of this trace; undefined when the span is not recorded. */
  get annotation(): string | undefined {
    const headers: Record<string, string> = {};
    this.#tracing.propagator.inject(this.#context, headers, defaultTextMapSetter);
    return Object.keys(headers).length > 0 ? JSON.stringify(headers) : undefined;
  }

  /** The child span of a part. It starts with the first call and ends with the pass. */
  part(name: string): Span {
    const part = this.#parts.get(name) ?? this.#tracing.tracer.startSpan(name, {}, this.#context);
    this.#parts.set(name, part);
    return part;
  }

  end(error?: unknown): void {
    if (error !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
    for (const part of this.#parts.values()) part.end();
    this.#span.end();
  }
}

function headersOf({ metadata }: KubeObject, onMalformed: (error: unknown) => void): Record<string, string> {
  const written = metadata?.annotations?.[traceContextAnnotation];
  if (written === undefined) return {};
  try {
    const read: unknown = JSON.parse(written);
    const entries = typeof read === "object" && read !== null ? Object.entries(read) : [];
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch (error) {
    onMalformed(error);
    return {};
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : JSON.stringify(error);
}
