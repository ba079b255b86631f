import { silentLogger } from "@agent-sandbox/kube";
import { VirtualClock } from "@agent-sandbox/kube/testing";
import { ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import { PassTrace } from "../../pass-trace.ts";
import { OtlpTracing } from "./otlp-tracing.ts";
import { traceContext } from "./trace-context.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const parent = `00-${traceId}-b7ad6b7169203331-01`;

function openRig(send?: () => Promise<void>) {
  const clock = new VirtualClock();
  const sent: unknown[] = [];
  const keep = (request: object): Promise<void> => {
    sent.push(request);
    return send?.() ?? Promise.resolve();
  };
  return { clock, sent, tracing: new OtlpTracing({ send: keep, log: silentLogger, scheduler: clock }) };
}

const annotated = (headers: object) => ({
  metadata: { annotations: { "opentelemetry.io/trace-context": JSON.stringify(headers) } },
});

describe("OtlpTracing", () => {
  test("sends a pass as a span of the trace that its object belongs to, with its parts", async () => {
    const { clock, sent, tracing } = openRig();
    const object = annotated({ traceparent: parent, tracestate: "vendor=1" });
    const pass = PassTrace.begin(tracing, { object, name: "Reconcile", attributes: { n: 1 } }, () => undefined);
    pass?.part("reconcilePod").addEvent("Seen", { "pod.Name": "p" });
    const carried = JSON.parse(pass?.annotation ?? "") as Record<string, string>;
    pass?.end(new Error("broken"));
    expect(sent).toEqual([]);
    await clock.advance(5_000);
    const part = { traceId, name: "reconcilePod", parentSpanId: carried["traceparent"]?.split("-")[2] };
    const whole = { traceId, name: "Reconcile", parentSpanId: "b7ad6b7169203331", spanId: part.parentSpanId };
    expect(sent).toMatchObject([
      {
        resourceSpans: [
          {
            resource: { attributes: [{ key: "service.name", value: { stringValue: "agent-sandbox-controller" } }] },
            scopeSpans: [
              {
                spans: [
                  { ...part, events: [{ name: "Seen", attributes: [{ key: "pod.Name" }] }], status: {} },
                  {
                    ...whole,
                    attributes: [{ key: "n", value: { intValue: "1" } }],
                    status: { code: 2, message: "broken" },
                  },
                ],
              },
            ],
          },
        ],
      },
    ]);
    expect(carried["tracestate"]).toBe("vendor=1");
  });

  test("keeps nothing of a trace that is not sampled, and no more than its bound", async () => {
    const { sent, tracing } = openRig();
    const unsampled = traceContext.extract(ROOT_CONTEXT, { traceparent: parent.replace(/01$/, "00") }, {} as never);
    tracing.tracer.startSpan("quiet", {}, unsampled).end();
    for (let made = 0; made < 3_000; made += 1) tracing.tracer.startSpan("loud").end();
    await tracing[Symbol.asyncDispose]();
    const sizes = sent.map((request) => JSON.stringify(request).split('"loud"').length - 1);
    expect(sizes).toEqual([512, 512, 512, 512]);
  });

  test("tells the kind of a span, and sends under the name it was given", async () => {
    const sent: object[] = [];
    const send = async (request: object): Promise<void> => void sent.push(request);
    await using tracing = new OtlpTracing({ send, log: silentLogger, service: "sandbox-router" });
    tracing.tracer.startSpan("inner").end();
    tracing.tracer.startSpan("HTTP GET", { kind: SpanKind.SERVER }).end();
    await tracing[Symbol.asyncDispose]();
    const spans = [
      { name: "inner", kind: 1 },
      { name: "HTTP GET", kind: 2 },
    ];
    const resource = { attributes: [{ key: "service.name", value: { stringValue: "sandbox-router" } }] };
    expect(sent).toMatchObject([{ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }]);
  });

  test("goes on when the collector is away", async () => {
    const { clock, sent, tracing } = openRig(() => Promise.reject(new Error("away")));
    for (const name of ["one", "two"]) {
      tracing.tracer.startSpan(name).end();
      await clock.advance(5_000);
    }
    expect(sent).toHaveLength(2);
  });
});

test.for([
  ["", false],
  ["00-0-0-01", false],
  [`ff-${traceId}-b7ad6b7169203331-01`, false],
  [`${parent}-more`, false],
  [`01-${traceId}-b7ad6b7169203331-01-more`, true],
  [`00-${"0".repeat(32)}-b7ad6b7169203331-01`, false],
  [parent.toUpperCase(), false],
  [parent, true],
] as const)("traceparent %j", ([traceparent, isTaken]) => {
  const context = traceContext.extract(ROOT_CONTEXT, { traceparent }, {} as never);
  expect(trace.getSpanContext(context) !== undefined).toBe(isTaken);
});
