import type { Attributes } from "@opentelemetry/api";
import type { SpanRecord } from "./recorded-span.ts";

/** The body of an `ExportTraceServiceRequest` in OTLP's JSON. */
export function otlpRequest(service: string, spans: readonly SpanRecord[]): object {
  const resource = { attributes: keyValues({ "service.name": service }) };
  const scopeSpans = [{ scope: { name: service }, spans: spans.map(otlpSpan) }];
  return { resourceSpans: [{ resource, scopeSpans }] };
}

function otlpSpan({ context, parentSpanId, status, ...span }: SpanRecord): object {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name: span.name,
    // OTLP counts from one, the API from zero.
    kind: span.kind + 1,
    startTimeUnixNano: nanoseconds(span.startedAtMs),
    endTimeUnixNano: nanoseconds(span.endedAtMs),
    attributes: keyValues(span.attributes),
    events: span.events.map(({ name, atMs, attributes }) => ({
      name,
      timeUnixNano: nanoseconds(atMs),
      attributes: keyValues(attributes),
    })),
    status: status === undefined ? {} : { code: status.code, ...(status.message && { message: status.message }) },
  };
}

/** 64 bits are a string in protobuf's JSON. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n);
}

function keyValues(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return Array.isArray(value)
    ? { arrayValue: { values: value.map(anyValue) } }
    : { stringValue: JSON.stringify(value) };
}
