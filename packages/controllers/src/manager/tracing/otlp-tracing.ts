import type { Logger } from "@agent-sandbox/kube";
import type { TextMapPropagator, Tracer } from "@opentelemetry/api";
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from "@opentelemetry/core";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Tracing } from "../../pass-trace.ts";

export interface OtlpTracingOptions {
  /** Sends spans to the collector. Rejects if the collector did not accept them. */
  readonly send: (spans: ReadableSpan[]) => Promise<void>;
  readonly log: Logger;
  /** The name of the service in traces. Default `agent-sandbox-controller`. */
  readonly service?: string;
}

/** Sends spans to a collector in batches, in the background. Spans that cannot be sent are dropped, with a log entry. */
export class OtlpTracing implements Tracing, AsyncDisposable {
  readonly propagator: TextMapPropagator = new W3CTraceContextPropagator();
  readonly tracer: Tracer;
  readonly #provider: TracerProvider;

  constructor({ send, log, service = "agent-sandbox-controller" }: OtlpTracingOptions) {
    // Bounds the memory while the collector is unreachable.
    const limits = { scheduledDelayMillis: 5_000, maxExportBatchSize: 512, maxQueueSize: 2_048 };
    const exporter = exporterOf(send, log);
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ "service.name": service }),
      spanProcessors: [new BatchSpanProcessor({ exporter, ...limits })],
    });
    this.tracer = this.#provider.getTracer(service);
  }

  /** Sends the spans that are still queued. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider.shutdown();
  }
}

function exporterOf(send: OtlpTracingOptions["send"], log: Logger): SpanExporter {
  const attempt = async (spans: ReadableSpan[], done: (result: ExportResult) => void): Promise<void> => {
    try {
      await send(spans);
    } catch (error) {
      log.warn({ err: error, spans: spans.length }, "spans not sent");
    }
    // Failures are not reported to the SDK, which would log them again.
    done({ code: ExportResultCode.SUCCESS });
  };
  return { export: (spans, done) => void attempt(spans, done), shutdown: () => Promise.resolve() };
}
