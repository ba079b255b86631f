import type { ServerResponse } from "node:http";
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import type { Observer } from "../observe/observer.ts";
import type { Visit } from "../observe/visit.ts";
import { RouterError } from "../router-error.ts";
import type { Cancellation } from "./cancellation.ts";
import type { FrontDoor, Guest } from "./front-door.ts";
import type { GrpcSessions } from "./grpc-sessions.ts";
import type { Incoming } from "./incoming.ts";
import { forHttp2 } from "./response-head.ts";

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
    const { request, response } = http2;
    const { target, connection: session } = await door.connect(guest, visit, {
      cancellation,
      open: (found) => sessions.get(found),
    });
    using _use = door.using(target);
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
    await relayAnswer(stream, response, {
      cancellation,
      name: guest.route.name,
      onHead: (status) => {
        visit.status = status;
        if (status === 401) door.tokenRefused(target);
      },
      onBytes: (count) => {
        visit.bytesOut += count;
      },
    });
  }
}

interface AnswerOptions {
  readonly cancellation: Cancellation;
  readonly name: string;
  readonly onHead: (status: number) => void;
  readonly onBytes: (count: number) => void;
}

function relayAnswer(stream: ClientHttp2Stream, response: ServerResponse, options: AnswerOptions): Promise<void> {
  const { cancellation, name, onHead, onBytes } = options;
  return new Promise((resolve, reject) => {
    let trailers: OutgoingHttpHeaders = {};
    stream.on("response", (headers) => {
      const status = headers[":status"] ?? 200;
      onHead(status);
      response.writeHead(status, answerHeaders(headers));
      response.flushHeaders();
    });
    stream.on("data", (chunk: Buffer) => {
      onBytes(chunk.length);
      if (response.write(chunk)) return;
      stream.pause();
      response.once("drain", () => stream.resume());
    });
    stream.on("trailers", (headers: IncomingHttpHeaders) => {
      trailers = answerHeaders(headers);
    });
    stream.on("end", () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) return;
      response.addTrailers(trailers);
      response.end();
      resolve();
    });
    stream.on("error", (cause) => reject(cancellation.reason ?? lost(name, cause)));
    stream.on("close", () => reject(cancellation.reason ?? lost(name, new Error(`Stream closed: ${stream.rstCode}`))));
  });
}

const lost = (name: string, cause: unknown): RouterError =>
  new RouterError("BadUpstream", `The connection to the backend sandbox was lost: ${name}`, { cause });

function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(([name, value]) => !name.startsWith(":") && value !== undefined);
  return Object.fromEntries(kept);
}
