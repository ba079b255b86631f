import { silentLogger } from "@agent-sandbox/kube";
import { ROOT_CONTEXT, SpanKind } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import { PassTrace } from "../../pass-trace.ts";
import { OtlpTracing } from "./otlp-tracing.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = `00-${traceId}-b7ad6b7169203331-01`;

function collect(): { batches: ReadableSpan[][]; send: (spans: ReadableSpan[]) => Promise<void> } {
  const batches: ReadableSpan[][] = [];
  return { batches, send: async (spans) => void batches.push(spans) };
}

test("a pass becomes a span of the trace that its object belongs to, with a child for each part", async () => {
  const { batches, send } = collect();
  const tracing = new OtlpTracing({ send, log: silentLogger });
  const headers = { traceparent: parent, tracestate: "vendor=1" };
  const object = { metadata: { annotations: { "opentelemetry.io/trace-context": JSON.stringify(headers) } } };
  const pass = PassTrace.begin(tracing, { object, name: "Reconcile", attributes: { n: 1 } }, () => undefined);
  pass?.part("reconcilePod").addEvent("Seen", { "pod.Name": "p" });
  const carried = JSON.parse(pass?.annotation ?? "") as Record<string, string>;
  pass?.end(new Error("broken"));
  await tracing[Symbol.asyncDispose]();
  const [part, whole] = batches.flat();
  expect(part).toMatchObject({ name: "reconcilePod", events: [{ name: "Seen", attributes: { "pod.Name": "p" } }] });
  expect(part?.parentSpanContext?.spanId).toBe(whole?.spanContext().spanId);
  expect(whole).toMatchObject({ name: "Reconcile", attributes: { n: 1 }, status: { code: 2, message: "broken" } });
  expect(whole?.spanContext().traceId).toBe(traceId);
  expect(whole?.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
  expect(carried).toEqual({
    traceparent: `00-${traceId}-${whole?.spanContext().spanId}-01`,
    tracestate: "vendor=1",
  });
});

test("drops spans that are not sampled and spans beyond the queue's limit", async () => {
  const { batches, send } = collect();
  const tracing = new OtlpTracing({ send, log: silentLogger });
  const get = (carrier: Record<string, string>, key: string) => carrier[key];
  const getter = { get, keys: Object.keys };
  const unsampled = tracing.propagator.extract(ROOT_CONTEXT, { traceparent: parent.replace(/01$/, "00") }, getter);
  tracing.tracer.startSpan("unsampled", {}, unsampled).end();
  for (let made = 0; made < 3_000; made += 1) tracing.tracer.startSpan("sampled").end();
  await tracing[Symbol.asyncDispose]();
  // The queue's limit, and the batch that was being sent meanwhile.
  expect(batches.flat()).toHaveLength(2_048 + 512);
  expect(batches.flat().filter(({ name }) => name !== "sampled")).toEqual([]);
});

test("spans have the name of the service", async () => {
  const { batches, send } = collect();
  const tracing = new OtlpTracing({ send, log: silentLogger, service: "sandbox-router" });
  tracing.tracer.startSpan("HTTP GET", { kind: SpanKind.SERVER }).end();
  await tracing[Symbol.asyncDispose]();
  expect(batches.flat()).toMatchObject([{ name: "HTTP GET", kind: SpanKind.SERVER }]);
  expect(batches.flat()[0]?.resource.attributes["service.name"]).toBe("sandbox-router");
});

test("logs spans that the collector did not accept, and continues", async () => {
  const warnings: object[] = [];
  const log = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
  const tracing = new OtlpTracing({ send: () => Promise.reject(new Error("unreachable")), log });
  tracing.tracer.startSpan("one").end();
  await tracing[Symbol.asyncDispose]();
  expect(warnings).toEqual([{ err: new Error("unreachable"), spans: 1 }]);
});
