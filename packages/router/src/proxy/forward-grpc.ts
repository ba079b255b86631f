import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Target } from "../cluster/target.ts";
import type { Http2ResponseWriter } from "../http2/http2-response-writer.ts";
import type { Cancellation } from "../request/cancellation.ts";
import type { Exchange, Forwarder, Upstream, UsedUpstream } from "../request/exchange.ts";
import { grpcTrailers } from "../request/send-error.ts";
import { asRouterError, RouterError } from "../router-error.ts";
import type { GrpcSessions } from "../upstream/grpc-sessions.ts";
import { isMisdirectedCall, Misdirected, misdirectedStatus } from "../upstream/misdirected.ts";
import type { RuntimeTokens } from "../upstream/runtime-tokens.ts";
import type { UpstreamHeaders } from "../upstream/upstream-headers.ts";
import { forHttp2, type ResponseOrigin, responseHead } from "./response-head.ts";

export interface GrpcForwarderOptions {
  readonly sessions: GrpcSessions;
  readonly headers: UpstreamHeaders;
  readonly runtimeTokens: RuntimeTokens;
}

/**
 * Forwards gRPC calls over HTTP/2, with their trailers. The router sets no timeout: a call carries its own deadline, and a
 * silent stream may still be in use.
 */
export class GrpcForwarder implements Forwarder<ClientHttp2Session> {
  readonly #options: GrpcForwarderOptions;

  constructor(options: GrpcForwarderOptions) {
    this.#options = options;
  }

  take(): undefined {
    return undefined;
  }

  open(target: Target): Promise<ClientHttp2Session> {
    return this.#options.sessions.get(target);
  }

  mayRepeat(): boolean {
    return false;
  }

  forward(exchange: Exchange, upstream: UsedUpstream<ClientHttp2Session>, onDone: (error?: unknown) => void): void {
    this.#forward(exchange, upstream).then(() => onDone(), onDone);
  }

  async #forward(exchange: Exchange, { target, connection }: Upstream<ClientHttp2Session>): Promise<void> {
    const { client, record, route } = exchange;
    const { method, http2, cancellation } = client;
    if (http2 === undefined) throw new Error("Cannot forward a gRPC call: the request did not arrive over HTTP/2");
    const headers = await this.#options.headers.build(exchange, target);
    cancellation.throwIfCancelled();
    const stream = connection.request({
      ...forHttp2(headers),
      te: "trailers",
      ":method": method,
      ":path": route.target,
      ":scheme": "http",
    });
    cancellation.onCancel = () => stream.close(constants.NGHTTP2_CANCEL);
    http2.request.pipe(stream);
    const check = (status: number): void => {
      try {
        this.#options.runtimeTokens.checkResponse(target, status);
      } catch (error) {
        // The next call opens a new session, which verifies the address of the pod.
        connection.close();
        record.reason = "Unreachable";
        throw error;
      }
    };
    await relayResponse(stream, http2.response, {
      cancellation,
      origin: { route, epoch: target.epoch },
      onHead: (status) => {
        check(status);
        record.status = status;
      },
      onTrailers: (trailers) => {
        if (isMisdirectedCall(trailers)) check(misdirectedStatus);
      },
      onBytes: (count) => {
        record.bytesOut += count;
      },
    });
  }
}

interface RelayOptions {
  readonly cancellation: Cancellation;
  readonly origin: ResponseOrigin;
  /** May throw: the client then gets that error instead of the sandbox's response. */
  readonly onHead: (status: number) => void;
  /** May throw, with the same effect. */
  readonly onTrailers: (trailers: IncomingHttpHeaders) => void;
  readonly onBytes: (count: number) => void;
}

/** Whatever a sandbox sends can only fail its own call: everything Node throws while it is relayed is caught here. */
function relayResponse(
  stream: ClientHttp2Stream,
  response: Http2ResponseWriter,
  { cancellation, origin, onHead, onTrailers, onBytes }: RelayOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let trailers: OutgoingHttpHeaders = {};
    const fail = (cause: unknown): void => {
      stream.removeAllListeners("data").removeAllListeners("end");
      stream.close(constants.NGHTTP2_CANCEL);
      reject(cancellation.reason ?? (cause instanceof Misdirected ? cause : connectionLost(origin.route.name, cause)));
    };
    stream.on("response", (headers) => {
      try {
        const status = headers[":status"] ?? 200;
        onHead(status);
        // A response without a body carries its trailers in its headers.
        onTrailers(headers);
        response.beginWithTrailers({ ...responseHeaders(headers, origin), ":status": status });
      } catch (error) {
        fail(error);
      }
    });
    stream.on("data", (chunk: Buffer) => {
      onBytes(chunk.length);
      if (!response.write(chunk)) stream.pause();
    });
    response.onDrain = () => stream.resume();
    stream.on("trailers", (headers: IncomingHttpHeaders) => {
      try {
        onTrailers(headers);
        trailers = responseHeaders(headers, { ...origin, epoch: undefined });
      } catch (error) {
        trailers = grpcTrailers(asRouterError(error));
      }
    });
    stream.on("end", () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) return;
      response.endWith(trailers);
      resolve();
    });
    stream.on("error", fail);
    stream.on("close", () => fail(new Error(`Stream closed: ${stream.rstCode}`)));
  });
}

const connectionLost = (name: string, cause: unknown): RouterError =>
  new RouterError("BadUpstream", `The connection to the backend sandbox was lost: ${name}`, { cause });

function responseHeaders(headers: IncomingHttpHeaders, origin: ResponseOrigin): OutgoingHttpHeaders {
  const flat = Object.entries(headers).flatMap(([name, value = []]) =>
    name.startsWith(":") ? [] : [value].flat().flatMap((one) => [name, one]),
  );
  return forHttp2(responseHead(flat, origin));
}
