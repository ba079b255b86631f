import type { Attributes, AttributeValue, Span, SpanContext, SpanKind, SpanStatus } from "@opentelemetry/api";

export interface SpanRecord {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parentSpanId: string | undefined;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly status: SpanStatus | undefined;
}

export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Attributes;
}

/** A pass tells of a few things only; a loop that tells without end is cut short. */
const mostEvents = 128;

export interface SpanStart extends Pick<SpanRecord, "kind" | "context" | "parentSpanId" | "attributes"> {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onEnd: (record: SpanRecord) => void;
}

export class RecordedSpan implements Span {
  readonly #start: SpanStart;
  readonly #startedAtMs: number;
  readonly #attributes: Attributes;
  readonly #events: SpanEvent[] = [];
  #name: string;
  #status: SpanStatus | undefined;
  #isOver = false;

  constructor(start: SpanStart) {
    this.#start = start;
    this.#startedAtMs = start.now();
    this.#attributes = { ...start.attributes };
    this.#name = start.name;
  }

  spanContext(): SpanContext {
    return this.#start.context;
  }

  setAttribute(key: string, value: AttributeValue): this {
    this.#attributes[key] = value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    Object.assign(this.#attributes, attributes);
    return this;
  }

  addEvent(name: string, attributes: unknown = {}): this {
    if (this.#events.length < mostEvents) {
      this.#events.push({ name, atMs: this.#start.now(), attributes: attributes as Attributes });
    }
    return this;
  }

  /** Nothing here links spans. */
  addLink(): this {
    return this;
  }

  addLinks(): this {
    return this;
  }

  setStatus(status: SpanStatus): this {
    this.#status = status;
    return this;
  }

  updateName(name: string): this {
    this.#name = name;
    return this;
  }

  recordException(exception: unknown): void {
    const message = exception instanceof Error ? exception.message : String(exception);
    this.addEvent("exception", { "exception.message": message });
  }

  isRecording(): boolean {
    return !this.#isOver;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#start.onEnd({
      name: this.#name,
      kind: this.#start.kind,
      context: this.#start.context,
      parentSpanId: this.#start.parentSpanId,
      startedAtMs: this.#startedAtMs,
      endedAtMs: this.#start.now(),
      attributes: this.#attributes,
      events: this.#events,
      status: this.#status,
    });
  }
}
