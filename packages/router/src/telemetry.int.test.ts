import { once } from "node:events";
import { Agent, get, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { lastActivityAnnotation, sandboxes } from "@agent-sandbox/api";
import type { Logger, TransportRequest } from "@agent-sandbox/kube";
import {
  type Context,
  propagation,
  type Span,
  type SpanOptions,
  type TextMapPropagator,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { BoundAddress } from "./listen/listeners.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
let router: Router;
let pod: Served;
const logged: Record<string, unknown>[] = [];
const log: Logger = {
  debug: () => undefined,
  info: (fields, message) => void logged.push({ message, ...fields }),
  warn: () => undefined,
  error: () => undefined,
};

beforeAll(async () => {
  pod = await cluster.serve((_, response) => response.writeHead(201).end("hello"));
  await cluster.pod(await cluster.sandbox("box", { spec: { idlePolicy: { suspendAfterSeconds: 600 } } }), pod.ip);
  router = await cluster.router({ log, metrics: { port: 0 }, probes: { port: 0 } });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Reads and writes the header of W3C Trace Context. */
const traceparents: TextMapPropagator = {
  fields: () => ["traceparent"],
  extract: (context, carrier, getter) => {
    const [, traceId = "", spanId = ""] = String(getter.get(carrier, "traceparent") ?? "").split("-");
    return traceId === "" ? context : trace.setSpanContext(context, { traceId, spanId, traceFlags: 1 });
  },
  inject: (context, carrier, setter) => {
    const { traceId, spanId } = trace.getSpanContext(context) ?? {};
    setter.set(carrier, "traceparent", `00-${traceId}-${spanId}-01`);
    setter.set(carrier, "baggage", "none=of-it");
  },
};

const read = async (address: BoundAddress | undefined, path: string): Promise<[number, string]> => {
  const [answer] = (await once(get({ ...address, path }), "response")) as [import("node:http").IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return [answer.statusCode ?? 0, Buffer.concat(chunks).toString()];
};

test("logs each request once, without its query", async () => {
  await ask(router, "/path?token=secret", {
    ...toSandbox("box", pod.port),
    headers: { ...toSandbox("box", pod.port).headers, "X-Request-ID": "r-7", "User-Agent": "test" },
  });
  await expect.poll(() => logged.some(({ request_id }) => request_id === "r-7")).toBe(true);
  const line = logged.find(({ request_id }) => request_id === "r-7");
  expect(line).toMatchObject({
    message: "request",
    method: "GET",
    path: "/path",
    status: 201,
    client_ip: "127.0.0.1",
    sandbox_id: "box",
    sandbox_namespace: "default",
    bytes_out: 5,
    user_agent: "test",
  });
  expect(JSON.stringify(logged)).not.toContain("secret");
});

test("logs a request whose client disconnected with status 499", async () => {
  const seen = Promise.withResolvers<void>();
  const silent = await cluster.serve(() => seen.resolve());
  await cluster.pod(await cluster.sandbox("silent"), silent.ip);
  const { headers } = toSandbox("silent", silent.port);
  const sent = request({ ...router.address, headers: { ...headers, "X-Request-ID": "r-8" } });
  sent.on("error", () => undefined).end();
  await seen.promise;
  sent.destroy();
  await expect
    .poll(() => logged.find(({ request_id }) => request_id === "r-8"))
    .toMatchObject({ status: 499, reason: "ClientClosedRequest" });
});

test("uses metric labels that clients cannot choose", async () => {
  await ask(router, "/", { headers: { "X-Sandbox-ID": "x", "X-Sandbox-Namespace": "made-up" } });
  await ask(router, "/", { method: "PROPFIND", ...toSandbox("box", pod.port) });
  const [status, text] = await read(router.metricsAddress, "/metrics");
  expect(status).toBe(200);
  expect(text).not.toContain("made-up");
  expect(text).toContain('sandbox_router_requests_total{method="other",code="201",sandbox_namespace="default"} 1');
  expect(text).toContain('sandbox_router_requests_total{method="GET",code="404",sandbox_namespace="-"} 1');
  for (const name of [
    "request_duration_seconds_bucket",
    "inflight_requests",
    "authz_decisions_total",
    "cert_reloads_total",
    "build_info",
  ]) {
    expect(text).toContain(`sandbox_router_${name}`);
  }
});

test("continues the client's trace and forwards the context of its own span", async () => {
  const spans: { name: string; parent: string | undefined; attributes: Record<string, unknown>; isOver: boolean }[] =
    [];
  const tracer = {
    startSpan: (name: string, { attributes = {} }: SpanOptions = {}, parent?: Context): Span => {
      const span = {
        name,
        parent: parent && trace.getSpanContext(parent)?.spanId,
        attributes: { ...attributes },
        isOver: false,
      };
      spans.push(span);
      return {
        spanContext: () => ({ traceId: "a".repeat(32), spanId: "c".repeat(16), traceFlags: 1 }),
        setAttribute: (key: string, value: unknown) => (span.attributes[key] = value),
        setStatus: () => undefined,
        end: () => (span.isOver = true),
      } as unknown as Span;
    },
  } as unknown as Tracer;
  propagation.setGlobalPropagator(traceparents);
  const traced = await cluster.router({ log, tracer });
  const heard = Promise.withResolvers<IncomingMessage["headers"]>();
  const sandbox = await cluster.serve(
    (asked, response) => {
      heard.resolve(asked.headers);
      response.end();
    },
    { ip: pod.ip },
  );
  const headers = {
    ...toSandbox("box", sandbox.port).headers,
    traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
    baggage: "user=me",
    "X-Request-ID": "r-traced",
  };
  await ask(traced, "/part?secret", { headers });
  propagation.disable();
  const { traceparent, baggage } = await heard.promise;
  expect([traceparent, baggage]).toEqual([`00-${"a".repeat(32)}-${"c".repeat(16)}-01`, undefined]);
  await expect.poll(() => spans.map(({ isOver }) => isOver)).toEqual([true]);
  expect(spans[0]).toMatchObject({
    name: "HTTP GET",
    parent: "b".repeat(16),
    attributes: {
      "http.method": "GET",
      "http.target": "/part",
      "http.status_code": 200,
      "sandbox.id": "box",
      "sandbox.namespace": "default",
    },
  });
  const line = logged.find(({ request_id }) => request_id === "r-traced");
  expect([line?.["trace_id"], line?.["span_id"]]).toEqual(["a".repeat(32), "c".repeat(16)]);
});

test("limits concurrent requests to a sandbox", async () => {
  const held: ServerResponse[] = [];
  const slow = await cluster.serve((_, response) => void held.push(response), { ip: pod.ip });
  const strict = await cluster.router({ limits: { perSandbox: 1 } });
  const first = ask(strict, "/", toSandbox("box", slow.port));
  await expect.poll(() => held.length).toBe(1);
  const { status, text } = await ask(strict, "/", toSandbox("box", slow.port));
  expect([status, (JSON.parse(text) as { reason: string }).reason]).toEqual([503, "SandboxLimit"]);
  held[0]?.end("done");
  expect((await first).text).toBe("done");
});

test("closes idle connections at the limit, and refuses new ones if all are busy", async () => {
  const held: ServerResponse[] = [];
  const slow = await cluster.serve((_, response) => void held.push(response), { ip: pod.ip });
  const small = await cluster.router({ maxConnections: 2 });
  const status = (): Promise<number> =>
    ask(small, "/healthz").then(
      (answer) => answer.status,
      () => 0,
    );
  const idle = [1, 2].map(() => new Agent({ keepAlive: true }));
  for (const agent of idle) expect((await ask(small, "/healthz", { agent })).status).toBe(200);
  expect(await status()).toBe(200);
  const busy = [1, 2].map(() => ask(small, "/", toSandbox("box", slow.port)));
  await expect.poll(() => held.length).toBe(2);
  expect(await status()).toBe(0);
  for (const response of held) response.end("done");
  expect((await Promise.all(busy)).map(({ text }) => text)).toEqual(["done", "done"]);
  await expect.poll(status).toBe(200);
  for (const agent of idle) agent.destroy();
});

test("counts how requests name the sandbox", async () => {
  const own = await cluster.router();
  await ask(own, "/", toSandbox("box", pod.port));
  await ask(own, `/sandboxes/default/box/${pod.port}/`);
  await ask(own, "/", { headers: { Host: `${pod.port}-box.default.localhost` } });
  const text = await own.metrics();
  for (const by of ["header", "path", "host"]) expect(text).toContain(`sandbox_router_routes_total{by="${by}"} 1`);
});

test("is ready when the caches are filled, and not ready while it stops", async () => {
  expect(await read(router.probesAddress, "/healthz")).toEqual([200, '{"status":"ok"}']);
  expect(await read(router.probesAddress, "/readyz")).toEqual([200, "ok"]);
  const { startRouter } = await import("./start-router.ts");
  const { createClient } = await import("@agent-sandbox/kube");
  const never = ({ signal }: TransportRequest): Promise<never> =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  const deaf = { send: never, stream: never, close: () => Promise.resolve() };
  await using blind = await startRouter({
    client: createClient(deaf),
    listen: { port: 0 },
    probes: { port: 0 },
    auth: { anonymous: true },
    shutdownMs: 10,
  });
  expect(await read(blind.probesAddress, "/readyz")).toEqual([503, "draining"]);
  const { status, text } = await ask(blind, "/", toSandbox("box", pod.port));
  expect([status, (JSON.parse(text) as { reason: string }).reason]).toEqual([503, "NotSynced"]);
});

test("finishes requests in progress when it stops, and accepts no new ones", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = await cluster.serve((_, response) => void promise.then(() => response.end("done")), { ip: pod.ip });
  const leaving = await cluster.router({ shutdownMs: 5000 });
  const { host, port } = leaving.address ?? {};
  const asked = request({ host, port, agent: false, ...toSandbox("box", slow.port) }).end();
  const answered = once(asked, "response") as Promise<[import("node:http").IncomingMessage]>;
  await expect.poll(() => leaving.metrics()).toMatch(/inflight_requests 1/);
  const stopping = leaving[Symbol.asyncDispose]();
  const late = connect(port ?? 0, host);
  const [error] = (await once(late, "error")) as [NodeJS.ErrnoException];
  resolve();
  const [answer] = await answered;
  answer.resume();
  await stopping;
  expect([error.code, answer.statusCode]).toEqual(["ECONNREFUSED", 200]);
});

test("writes activity once", async () => {
  await Promise.all(Array.from({ length: 20 }, () => ask(router, "/", toSandbox("box", pod.port))));
  const written = () =>
    cluster.api.read(sandboxes, { namespace: "default", name: "box" })?.metadata.annotations?.[lastActivityAnnotation];
  await expect.poll(written).toMatch(/^\d{4}-.*Z$/);
  expect(cluster.api.writes.get("patch sandboxes")).toBe(1);
});

test("asks the runtime before a sandbox becomes idle, and keeps it awake while it is busy", async () => {
  let asked = 0;
  const runtime = await cluster.serve(
    (seen, response) => {
      asked += seen.url === "/v1/activity" && seen.headers["x-sandbox-token"] === "runtime-token" ? 1 : 0;
      response.end(JSON.stringify({ busy: true, running_processes: 1 }));
    },
    { port: 8080 },
  );
  const sandbox = await cluster.sandbox("worker", {
    spec: { runtime: "Injected", idlePolicy: { suspendAfterSeconds: 600 } },
  });
  await cluster.runtimeToken(sandbox, "runtime-token");
  await cluster.pod(sandbox, runtime.ip);
  // Ready for longer than three quarters of its window.
  const ready = {
    type: "Ready",
    status: "True",
    reason: "DependenciesReady",
    message: "",
    lastTransitionTime: new Date(Date.now() - 500_000).toISOString(),
  };
  await cluster.sandboxStatus(sandbox, { conditions: [ready] });
  const written = () =>
    cluster.api.read(sandboxes, { namespace: "default", name: "worker" })?.metadata.annotations?.[
      lastActivityAnnotation
    ];
  await expect.poll(written, { timeout: 5000 }).toMatch(/Z$/);
  // A first question that a busy machine does not answer in time is asked again.
  expect(asked).toBeLessThanOrEqual(2);
});
