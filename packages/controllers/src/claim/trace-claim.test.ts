import type { Context, Span, TextMapPropagator, Tracer } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClaimWorld } from "./claim-world.test.support.ts";

const annotation = "opentelemetry.io/trace-context";
const parentKey = Symbol("parent");

/** A tracer that keeps the name, parent and attributes of its spans, and a propagator of one header. */
function recording() {
  const spans: { name: string; parent: unknown; attributes: unknown; ended: number }[] = [];
  const startSpan: Tracer["startSpan"] = (name, options, context) => {
    const recorded = { name, parent: context?.getValue(parentKey), attributes: options?.attributes, ended: 0 };
    spans.push(recorded);
    const span: Partial<Span> = { setStatus: () => span as Span, end: () => void (recorded.ended += 1) };
    return span as Span;
  };
  const propagator: TextMapPropagator<Record<string, string>> = {
    extract: (context: Context, carrier) => context.setValue(parentKey, carrier["traceparent"]),
    inject: (context: Context, carrier) => {
      carrier["traceparent"] = (context.getValue(parentKey) as string | undefined) ?? "fresh";
    },
    fields: () => ["traceparent"],
  };
  return { spans, tracing: { tracer: { startSpan } as Tracer, propagator: propagator as TextMapPropagator } };
}

describe("tracing claims", () => {
  let world: ClaimWorld;
  let spans: ReturnType<typeof recording>["spans"];
  beforeEach(async () => {
    const { tracing, ...recorded } = recording();
    ({ spans } = recorded);
    world = new ClaimWorld();
    world.runPods();
    world.startAll({ tracing });
    await world.template();
    await world.pool();
    await world.clock.advance(30_000);
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  test("records a reconcile as a span of the claim's trace, which the Sandbox joins (OBSERVE-10)", async () => {
    const labels = { "agents.x-k8s.io/created-by": "my-script" };
    await world.claim("one", {}, { annotations: { [annotation]: '{"traceparent":"00-a-b-01"}' }, labels });
    await world.clock.advance(10_000);
    expect(spans[0]).toEqual({
      name: "ReconcileSandboxClaim",
      parent: "00-a-b-01",
      attributes: { "agents.x-k8s.io/created-by": "unknown" },
      ended: 1,
    });
    expect(world.owned(world.read("one"))[0]?.metadata.annotations?.[annotation]).toBe('{"traceparent":"00-a-b-01"}');
  });

  test("starts a trace for a claim without one, and writes it with the record of the claim (OBSERVE-10)", async () => {
    await world.claim("one");
    await world.clock.advance(10_000);
    expect(world.owned(world.read("one"))[0]?.metadata.annotations?.[annotation]).toBe('{"traceparent":"fresh"}');
    expect([world.read("one")?.metadata.annotations?.[annotation], world.writes()["patch sandboxclaims"]]).toEqual([
      '{"traceparent":"fresh"}',
      1,
    ]);
  });

  test("ignores a trace context that cannot be parsed (OBSERVE-11)", async () => {
    await world.claim("one", {}, { annotations: { [annotation]: "{" } });
    await world.clock.advance(10_000);
    expect([world.ready("one")?.status, spans[0]?.parent]).toEqual(["True", undefined]);
  });
});
