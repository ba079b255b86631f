import { type ClientHttp2Session, connect, constants } from "node:http2";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";

const path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

export interface GrpcSenderOptions {
  /** `http://host:port`, or `https://` for TLS. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Sends spans over OTLP/gRPC. The connection is opened when needed, and does not keep the process alive. */
export function grpcSender(options: GrpcSenderOptions): (spans: ReadableSpan[]) => Promise<void> {
  let session: ClientHttp2Session | undefined;
  const open = (): ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(options.endpoint);
      // Each open request reports the error.
      session.on("error", () => undefined);
      session.unref();
    }
    return session;
  };
  return (spans) => call(open(), options, ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array());
}

async function call(session: ClientHttp2Session, options: GrpcSenderOptions, message: Uint8Array): Promise<void> {
  const { endpoint, headers, timeoutMs } = options;
  const failed = (why: string, cause?: unknown): Error =>
    new Error(`Cannot send spans to "${endpoint}": ${why}`, { ...(cause !== undefined && { cause }) });
  const stream = session.request({
    ...headers,
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: path,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
    [constants.HTTP2_HEADER_TE]: "trailers",
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const judge = (found: { readonly [name: string]: string | string[] | number | undefined }): void => {
    const status = found["grpc-status"];
    if (status === undefined) return;
    if (String(status) === "0") resolve();
    else reject(failed(`status ${String(status)} ${decodeURIComponent(String(found["grpc-message"] ?? ""))}`));
  };
  // A response without a message has its status in the headers.
  stream.on("response", judge);
  stream.on("trailers", judge);
  stream.on("error", (error) => reject(failed(error.message, error)));
  stream.on("close", () => reject(failed("the answer has no status")));
  stream.setTimeout(timeoutMs, () => {
    reject(failed(`no answer within ${timeoutMs / 1000} s`));
    stream.close(constants.NGHTTP2_CANCEL);
  });
  stream.resume();
  stream.end(framed(message));
  await promise;
}

/** gRPC's frame: one byte for "not compressed", then the length in four bytes. */
function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
