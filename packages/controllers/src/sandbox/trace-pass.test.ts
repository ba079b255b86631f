import { sandboxes } from "@agent-sandbox/api";
import type { Context, Span, SpanStatus, TextMapPropagator, Tracer } from "@opentelemetry/api";
import { afterEach, describe, expect, test } from "vitest";
import { SandboxWorld } from "./sandbox-world.test.support.ts";

const annotation = "opentelemetry.io/trace-context";
const parentKey = Symbol("parent");

interface Recorded {
  readonly name: string;
  readonly parent: unknown;
  readonly attributes: unknown;
  readonly events: unknown[];
  status?: SpanStatus;
  ended: boolean;
}

/** A tracer that keeps its spans, and a propagator that carries one header. */
function recording(): { spans: Recorded[]; tracer: Tracer; propagator: TextMapPropagator<Record<string, string>> } {
  const spans: Recorded[] = [];
  const startSpan: Tracer["startSpan"] = (name, options, context) => {
    const recorded: Recorded = {
      name,
      parent: context?.getValue(parentKey),
      attributes: options?.attributes,
      events: [],
      ended: false,
    };
    spans.push(recorded);
    const span: Partial<Span> = {
      addEvent: (event, attributes) => (recorded.events.push([event, attributes]), span as Span),
      setStatus: (status) => ((recorded.status = status), span as Span),
      end: () => void (recorded.ended = true),
    };
    return span as Span;
  };
  const propagator: TextMapPropagator<Record<string, string>> = {
    extract: (context: Context, carrier) => context.setValue(parentKey, carrier["traceparent"]),
    inject: (context: Context, carrier) => {
      carrier["traceparent"] = (context.getValue(parentKey) as string | undefined) ?? "new";
    },
    fields: () => ["traceparent"],
  };
  return { spans, tracer: { startSpan } as Tracer, propagator };
}

describe("tracing", () => {
  let world: SandboxWorld;
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("records a reconcile as a span of the Sandbox's trace (OBSERVE-10)", async () => {
    const { spans, ...tracing } = recording();
    world = new SandboxWorld({ tracing });
    await world.create({
      annotations: { [annotation]: '{"traceparent":"00-a-b-01"}' },
      labels: { "agents.x-k8s.io/created-by": "my-script" },
      spec: { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] },
    });
    await world.settle();
    expect(spans.slice(0, 3)).toMatchObject([
      {
        name: "ReconcileSandbox",
        parent: "00-a-b-01",
        attributes: {
          "sandbox.name": "my-sandbox",
          "sandbox.namespace": "default",
          "agents.x-k8s.io/created-by": "unknown",
        },
      },
      { name: "reconcilePVCs", parent: "00-a-b-01" },
      { name: "reconcilePod", events: [["NewPodStatusObserved", { "pod.Name": "my-sandbox", "pod.Phase": "" }]] },
    ]);
    expect(spans.every(({ ended }) => ended)).toBe(true);
    expect(world.sandbox()?.metadata.annotations?.[annotation]).toBe('{"traceparent":"00-a-b-01"}');
    expect(world.attempts.get("patch sandboxes")).toBe(1);
  });

  test("gives a Sandbox without a trace context one before it does anything else (OBSERVE-10)", async () => {
    const { spans, ...tracing } = recording();
    world = new SandboxWorld({ tracing });
    const order: string[] = [];
    world.server.onChange(({ resource }) => order.push(resource.plural));
    await world.create();
    await world.settle();
    expect(order.slice(0, 3)).toEqual(["sandboxes", "sandboxes", "pods"]);
    expect(world.sandbox()?.metadata.annotations?.[annotation]).toBe('{"traceparent":"new"}');
    expect(spans[0]?.name).toBe("ReconcileSandbox");
  });

  test.for(["{", "[]", "7", "null", '{"traceparent":7}', "x".repeat(100_000)])(
    "ignores a trace context that cannot be parsed (OBSERVE-11)",
    async (written) => {
      const { spans, ...tracing } = recording();
      world = new SandboxWorld({ tracing });
      await world.create({ annotations: { [annotation]: written } });
      await world.settle();
      expect(world.pod()).toBeDefined();
      expect(spans[0]?.parent).toBeUndefined();
      expect(world.sandbox()?.metadata.annotations?.[annotation]).toBe(written);
    },
  );

  test("marks the span of a failed reconcile and ends it (OBSERVE-12)", async () => {
    const { spans, ...tracing } = recording();
    world = new SandboxWorld({ tracing });
    world.refuse("patch", sandboxes);
    await world.create();
    await world.settle(10);
    expect(spans[0]).toMatchObject({ ended: true, status: { code: 2 } });
    expect(world.pod()).toBeUndefined();
  });
});
