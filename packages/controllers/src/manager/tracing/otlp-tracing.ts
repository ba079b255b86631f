import { randomBytes } from "node:crypto";
import { type Logger, type Scheduler, systemScheduler } from "@agent-sandbox/kube";
import { SpanKind, type TextMapPropagator, TraceFlags, type Tracer, trace } from "@opentelemetry/api";
import type { Tracing } from "../../pass-trace.ts";
import { otlpRequest } from "./otlp.ts";
import { RecordedSpan, type SpanRecord } from "./recorded-span.ts";
import { traceContext } from "./trace-context.ts";

export interface OtlpTracingOptions {
  /** Brings a request to the collector; rejects when it was not taken. */
  readonly send: (request: object) => Promise<void>;
  readonly log: Logger;
  readonly scheduler?: Scheduler;
  /** Under which name the spans are found. Default `agent-sandbox-controller`. */
  readonly service?: string;
}

const sendEveryMs = 5_000;
const largestBatch = 512;
/** More wait only while the collector is away: news of spans is then lost, memory is not. */
const mostWaiting = 2_048;

/** Spans go to a collector in batches. Nothing waits for them, and what cannot be sent is dropped. */
export class OtlpTracing implements Tracing, AsyncDisposable {
  readonly propagator: TextMapPropagator = traceContext;
  readonly tracer: Tracer;
  readonly #options: OtlpTracingOptions;
  readonly #scheduler: Scheduler;
  #waiting: SpanRecord[] = [];
  #timer: Disposable | undefined;

  constructor(options: OtlpTracingOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? systemScheduler;
    const startSpan: Tracer["startSpan"] = (name, { attributes = {}, kind = SpanKind.INTERNAL } = {}, context) => {
      const parent = context && trace.getSpanContext(context);
      const traceId = parent?.traceId ?? randomBytes(16).toString("hex");
      const state = parent?.traceState && { traceState: parent.traceState };
      const spanId = randomBytes(8).toString("hex");
      const own = { traceId, spanId, traceFlags: parent?.traceFlags ?? TraceFlags.SAMPLED, ...state };
      return new RecordedSpan({
        name,
        kind,
        attributes,
        context: own,
        parentSpanId: parent?.spanId,
        now: () => this.#scheduler.date(),
        onEnd: (record) => this.#keep(record),
      });
    };
    this.tracer = { startSpan, startActiveSpan: refuseActive };
  }

  /** Sends what is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    while (this.#waiting.length > 0) await this.#sendBatch();
  }

  #keep(record: SpanRecord): void {
    const isSampled = (record.context.traceFlags & TraceFlags.SAMPLED) !== 0;
    if (!isSampled || this.#waiting.length >= mostWaiting) return;
    this.#waiting.push(record);
    this.#timer ??= this.#scheduler.schedule(sendEveryMs, () => void this.#sendAll());
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#sendBatch();
    this.#timer = undefined;
  }

  async #sendBatch(): Promise<void> {
    const { service = "agent-sandbox-controller", send } = this.#options;
    const batch = this.#waiting.splice(0, largestBatch);
    try {
      await send(otlpRequest(service, batch));
    } catch (error) {
      this.#options.log.warn({ err: error, spans: batch.length }, "spans not sent");
    }
  }
}

function refuseActive(): never {
  throw new Error("Cannot start an active span: passes carry their context with them");
}
