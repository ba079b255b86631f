import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import type { Observer } from "../observe/observer.ts";
import type { Visit } from "../observe/visit.ts";
import type { Route } from "../route/route.ts";
import { asRouterError, RouterError } from "../router-error.ts";
import type { Cancellation } from "./cancellation.ts";
import type { FrontDoor, Guest } from "./front-door.ts";
import type { GrpcSessions } from "./grpc-sessions.ts";
import type { Http2Answer } from "./http2-answer.ts";
import type { Incoming } from "./incoming.ts";
import { isMisdirectedCall, Misdirected, misdirectedStatus } from "./misdirected.ts";
import { forHttp2, responseHead } from "./response-head.ts";
import { grpcTrailers } from "./send-error.ts";

export interface GrpcProxyOptions {
  readonly door: FrontDoor;
  readonly sessions: GrpcSessions;
  readonly observer: Observer;
}

/**
 * Passes gRPC calls on, HTTP/2 to HTTP/2 with their trailers. A call lasts as long as both ends want it: its deadline is
 * in its own headers, and a stream that is silent may still be at work.
 */
export class GrpcProxy {
  readonly #options: GrpcProxyOptions;

  constructor(options: GrpcProxyOptions) {
    this.#options = options;
  }

  async serve(guest: Guest, { http2, cancellation }: Incoming, visit: Visit): Promise<void> {
    const { door, sessions, observer } = this.#options;
    if (http2 === undefined) throw new Error("Cannot pass on a gRPC call: it did not come by HTTP/2");
    const { request, answer } = http2;
    using _guard = door.guard(guest, cancellation);
    const { target, connection: session } = await door.connect(guest, visit, {
      cancellation,
      open: (found) => sessions.get(found),
    });
    using _use = door.using(target);
    answer.assign(target.namespace);
    const headers = observer.trace(visit, await door.headersFor(guest.reading, target, visit.requestId));
    cancellation.throwIfCancelled();
    const stream = session.request({
      ...forHttp2(headers),
      te: "trailers",
      ":method": guest.reading.knock.method,
      ":path": guest.route.target,
      ":scheme": "http",
    });
    cancellation.onCancel = () => stream.close(constants.NGHTTP2_CANCEL);
    request.pipe(stream);
    const look = (status: number): void => {
      try {
        door.answered(target, status);
      } catch (error) {
        // The next call makes a new connection, and asks whose it is.
        session.close();
        visit.reason = "Unreachable";
        throw error;
      }
    };
    await relayAnswer(stream, answer, {
      cancellation,
      route: guest.route,
      onHead: (status) => {
        look(status);
        visit.status = status;
      },
      onTrailers: (trailers) => {
        if (isMisdirectedCall(trailers)) look(misdirectedStatus);
      },
      onBytes: (count) => {
        visit.bytesOut += count;
      },
    });
  }
}

interface AnswerOptions {
  readonly cancellation: Cancellation;
  readonly route: Route;
  /** May throw what is to be told instead of the answer. */
  readonly onHead: (status: number) => void;
  /** May throw as well. */
  readonly onTrailers: (trailers: IncomingHttpHeaders) => void;
  readonly onBytes: (count: number) => void;
}

/** What a sandbox says must not be able to do more than fail its own call: whatever Node makes of it is caught here. */
function relayAnswer(stream: ClientHttp2Stream, answer: Http2Answer, options: AnswerOptions): Promise<void> {
  const { cancellation, route, onHead, onTrailers, onBytes } = options;
  return new Promise((resolve, reject) => {
    let trailers: OutgoingHttpHeaders = {};
    const fail = (cause: unknown): void => {
      stream.removeAllListeners("data").removeAllListeners("end");
      stream.close(constants.NGHTTP2_CANCEL);
      reject(cancellation.reason ?? (cause instanceof Misdirected ? cause : lost(route.name, cause)));
    };
    stream.on("response", (headers) => {
      try {
        const status = headers[":status"] ?? 200;
        onHead(status);
        // An answer without a body has its trailers in its head.
        onTrailers(headers);
        answer.beginWithTrailers({ ...answerHeaders(headers, route), ":status": status });
      } catch (error) {
        fail(error);
      }
    });
    stream.on("data", (chunk: Buffer) => {
      onBytes(chunk.length);
      if (!answer.write(chunk)) stream.pause();
    });
    answer.onDrain = () => stream.resume();
    stream.on("trailers", (headers: IncomingHttpHeaders) => {
      try {
        onTrailers(headers);
        trailers = answerHeaders(headers, route);
      } catch (error) {
        trailers = grpcTrailers(asRouterError(error));
      }
    });
    stream.on("end", () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) return;
      answer.endWith(trailers);
      resolve();
    });
    stream.on("error", fail);
    stream.on("close", () => fail(new Error(`Stream closed: ${stream.rstCode}`)));
  });
}

const lost = (name: string, cause: unknown): RouterError =>
  new RouterError("BadUpstream", `The connection to the backend sandbox was lost: ${name}`, { cause });

/** The headers of a sandbox's answer that go to the caller. */
function answerHeaders(headers: IncomingHttpHeaders, route: Route): OutgoingHttpHeaders {
  const flat = Object.entries(headers).flatMap(([name, value = []]) =>
    name.startsWith(":") ? [] : [value].flat().flatMap((one) => [name, one]),
  );
  return forHttp2(responseHead(flat, { route }));
}
