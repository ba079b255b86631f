import { once } from "node:events";
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { otlpSender } from "@agent-sandbox/controllers/tracing";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterEach, beforeEach, expect, test } from "vitest";
import { grpcSender } from "../../packages/controllers/src/manager/tracing/grpc-sender.ts";

let opened: AsyncDisposableStack;
beforeEach(() => {
  opened = new AsyncDisposableStack();
});
afterEach(() => opened.disposeAsync());

const exporter = new InMemorySpanExporter();
new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  .getTracer("test")
  .startSpan("ReconcileSandbox")
  .end();
const spans = exporter.getFinishedSpans();
const asJson = Buffer.from(JsonTraceSerializer.serializeRequest(spans) ?? []);
const asProtobuf = Buffer.from(ProtobufTraceSerializer.serializeRequest(spans) ?? []);

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A gRPC collector whose responses the test controls. */
async function openCollector(
  answer: (stream: ServerHttp2Stream) => void,
): Promise<{ url: string; received: Received[]; server: Http2Server; sessions: () => number }> {
  const received: Received[] = [];
  let sessions = 0;
  const server = createServer();
  server.on("session", () => (sessions += 1));
  const take = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    received.push({ headers, body: await buffer(stream) });
    answer(stream);
  };
  server.on("stream", (stream: ServerHttp2Stream, headers) => void take(stream, headers));
  await once(server.listen(0, "127.0.0.1"), "listening");
  opened.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, received, server, sessions: () => sessions };
}

function finish(stream: ServerHttp2Stream, trailers: Record<string, string>): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(Buffer.alloc(5));
}

test("sends spans over gRPC on one connection", async () => {
  const { url, received, sessions } = await openCollector((stream) => finish(stream, { "grpc-status": "0" }));
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_EXPORTER_OTLP_HEADERS: "Api-Key=a%20b",
  };
  const send = otlpSender(env);
  await send?.(spans);
  await send?.(spans);
  expect([received.length, sessions()]).toEqual([2, 1]);
  const [{ headers, body } = { headers: {}, body: Buffer.alloc(0) }] = received;
  expect(headers).toMatchObject({
    ":method": "POST",
    ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "content-type": "application/grpc",
    te: "trailers",
    "api-key": "a b",
  });
  expect([body[0], body.readUInt32BE(1)]).toEqual([0, asProtobuf.length]);
  expect(body.subarray(5)).toEqual(asProtobuf);
});

test.for([
  [
    "rejects the request",
    (stream: ServerHttp2Stream) => finish(stream, { "grpc-status": "8", "grpc-message": "too%20many" }),
    /status 8 too many/,
  ],
  [
    "rejects the request in its headers",
    (stream: ServerHttp2Stream) => stream.respond({ ":status": 200, "grpc-status": "16" }, { endStream: true }),
    /status 16/,
  ],
  [
    "is not a collector",
    (stream: ServerHttp2Stream) => stream.respond({ ":status": 404 }, { endStream: true }),
    /no status/,
  ],
  ["closes the connection", (stream: ServerHttp2Stream) => stream.session?.destroy(), /Cannot send spans/],
  ["does not answer", () => undefined, /no answer within 1 s/],
] as const)("reports a collector that %s, and sends the next batch on a new connection", async ([, answer, why]) => {
  let isFirst = true;
  const { url, received } = await openCollector((stream) => {
    if (isFirst) answer(stream);
    else finish(stream, { "grpc-status": "0" });
    isFirst = false;
  });
  const send = grpcSender({ endpoint: url, headers: {}, timeoutMs: 1_000 });
  await expect(send(spans)).rejects.toThrow(why);
  await send(spans);
  expect(received).toHaveLength(2);
});

test("reports a collector that cannot be reached", async () => {
  const { url, server } = await openCollector(() => undefined);
  server.close();
  await once(server, "close");
  await expect(grpcSender({ endpoint: url, headers: {}, timeoutMs: 1_000 })(spans)).rejects.toThrow("ECONNREFUSED");
});

test.for([
  ["JSON", {}, "application/json", asJson],
  ["protobuf", { OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" }, "application/x-protobuf", asProtobuf],
] as const)("sends %s over HTTP and reports a response that is not OTLP", async ([, env, type, expected]) => {
  const received: { readonly line: string; readonly body: Buffer }[] = [];
  const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const line = `${incoming.method} ${incoming.url} ${incoming.headers["content-type"]}`;
    received.push({ line, body: await buffer(incoming) });
    response.writeHead(received.length === 1 ? 200 : 503).end();
  };
  const server = createHttp((incoming, response) => void take(incoming, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  opened.defer(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const send = otlpSender({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env });
  await send?.(spans);
  expect(received).toEqual([{ line: `POST /v1/traces ${type}`, body: expected }]);
  await expect(send?.(spans)).rejects.toThrow("status 503");
});
