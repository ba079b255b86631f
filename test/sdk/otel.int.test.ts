import { createClient, HttpTransport, loadKubeconfig } from "@agent-sandbox/kube";
import { type Router, startRouter } from "@agent-sandbox/router";
import { connect, type Sandbox, type SandboxClient } from "@agent-sandbox/sdk";
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  StackContextManager,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

describe.skipIf(reason !== undefined)("traces of the SDK", { timeout: 120_000 }, () => {
  const ofProgram = new InMemorySpanExporter();
  const ofRouter = new InMemorySpanExporter();
  const stack = new AsyncDisposableStack();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: ofProgram })] });
  let client: SandboxClient;
  let sandbox: Sandbox;

  beforeAll(async () => {
    buildCommandLine();
    const box = stack.use(await Box.make());
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
    // A second router for the same sandboxes, which collects traces.
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: ofRouter })] });
    const router = stack.use(await routerFor(box, tracer));
    client = stack.use(await connect({ dataDir: box.dataDir, router: router.url }));
    sandbox = await client.create({ image: "host", name: "traced" });
  });
  afterAll(async () => {
    await stack.disposeAsync();
    for (const each of [trace, propagation, context]) each.disable();
  });

  /** The spans of the program that a call caused. */
  async function spansOf(work: () => Promise<unknown>): Promise<ReadableSpan[]> {
    ofProgram.reset();
    await work();
    return ofProgram.getFinishedSpans();
  }

  test("there are none without a tracer provider", async () => {
    expect(await spansOf(() => sandbox.commands.run("true"))).toEqual([]);
    const parents = () => ofRouter.getFinishedSpans().map(({ parentSpanContext }) => parentSpanContext);
    await expect.poll(parents).toEqual([undefined]);
  });

  describe("with a tracer provider", () => {
    beforeAll(() => {
      trace.setGlobalTracerProvider(provider);
      context.setGlobalContextManager(new StackContextManager().enable());
    });

    test.each([
      ["sandbox.commands.run", () => sandbox.commands.run("echo hello")],
      ["sandbox.commands.run", () => sandbox.commands.run("cat", { stdin: "in", onStdout: () => undefined })],
      ["sandbox.files.write", () => sandbox.files.write("a.txt", "a")],
      ["sandbox.ports.list", () => sandbox.ports.list()],
    ] as const)("an operation is one span %s, and the router continues its trace", async (name, work) => {
      const program = await spansOf(work);
      expect(program.map((span) => [span.name, span.kind])).toEqual([[name, SpanKind.CLIENT]]);
      expect(program[0]?.attributes).toMatchObject({ "sandbox.id": "traced", "sandbox.namespace": "default" });
      const { traceId, spanId } = program[0]?.spanContext() ?? {};
      const continued = () => ofRouter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
      await expect.poll(() => continued().length).toBeGreaterThan(0);
      expect(new Set(continued().map(({ parentSpanContext }) => parentSpanContext?.spanId))).toEqual(new Set([spanId]));
    });

    test("a stream is one span, which ends with the iteration", async () => {
      const read = async (): Promise<void> => {
        for await (const _ of sandbox.files.readStream("a.txt")) expect(ofProgram.getFinishedSpans()).toEqual([]);
      };
      const program = await spansOf(read);
      expect(program.map(({ name }) => name)).toEqual(["sandbox.files.read"]);
    });

    test("an operation is a child of the caller's active span", async () => {
      const parent = provider.getTracer("test").startSpan("work of the caller");
      const active = trace.setSpan(context.active(), parent);
      const program = await spansOf(() => context.with(active, () => sandbox.files.readText("a.txt")));
      expect(program.map(({ parentSpanContext }) => parentSpanContext)).toEqual([parent.spanContext()]);
    });

    test("a failure has its reason and not the message", async () => {
      const program = await spansOf(() => expect(sandbox.files.read("secret-name")).rejects.toThrow("secret-name"));
      expect(program[0]).toMatchObject({ status: { message: "NotFound" }, attributes: { "error.type": "NotFound" } });
      expect(JSON.stringify([program[0]?.attributes, program[0]?.events])).not.toContain("secret-name");
    });

    test("calls of the API server have a span too", async () => {
      const program = await spansOf(async () => {
        await client.list();
        await sandbox.status();
      });
      expect(program.map(({ name }) => name)).toEqual(["sandbox.list", "sandbox.status"]);
    });
  });
});

async function routerFor(box: Box, provider: TracerProvider): Promise<Router> {
  const loaded = await loadKubeconfig({ path: box.kubeconfig });
  if (loaded.error !== undefined) throw new Error(loaded.error);
  const kube = createClient(new HttpTransport(loaded.access));
  const tracer = provider.getTracer("router");
  const router = await startRouter({ client: kube, listen: { port: 0 }, shutdownMs: 500, tracer });
  await router.ready;
  return router;
}
