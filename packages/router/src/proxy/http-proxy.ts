import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Target } from "../cluster/target.ts";
import type { Observer } from "../observe/observer.ts";
import { callerGoneStatus, pathOf, type Visit } from "../observe/visit.ts";
import { asRouterError, RouterError } from "../router-error.ts";
import { BodySource } from "./body-source.ts";
import { CallerGone, Cancellation } from "./cancellation.ts";
import type { Channel } from "./channel.ts";
import type { FrontDoor, Guest, Reading } from "./front-door.ts";
import type { GrpcProxy } from "./grpc-proxy.ts";
import type { OwnRoutes } from "./own-routes.ts";
import type { Reached } from "./pathfinder.ts";
import { Relay } from "./relay.ts";
import { requestTimeoutMs, timedOut } from "./request-timeout.ts";
import { sendError } from "./send-error.ts";
import type { Upstream, UpstreamPool } from "./upstream-pool.ts";

export interface HttpProxyOptions {
  readonly door: FrontDoor;
  readonly pool: UpstreamPool;
  readonly grpc: GrpcProxy;
  readonly own: OwnRoutes;
  readonly observer: Observer;
  /** How long a request may stand still. */
  readonly timeoutMs: number;
  /** 0: any. */
  readonly maxBodyBytes: number;
}

/** What a request needs while it is served. */
export interface Service {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly visit: Visit;
  readonly cancellation: Cancellation;
  /** Whether the caller waits to be told to send its body. */
  readonly expectsContinue: boolean;
}

interface Exchange {
  readonly connection: Upstream;
  readonly headers: string[];
  readonly onHead: (status: number) => void;
  readonly onProgress: () => void;
}

/** Answers HTTP requests: its own few, and those it passes on. */
export class HttpProxy {
  readonly #options: HttpProxyOptions;

  constructor(options: HttpProxyOptions) {
    this.#options = options;
  }

  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    channel: Channel & { expectsContinue?: boolean },
  ): Promise<void> {
    const { method = "", url = "" } = request;
    const visit = this.#options.observer.begin(method, pathOf(url), channel.peer);
    const cancellation = new Cancellation();
    const isGrpc = request.httpVersionMajor === 2 && isGrpcType(request.headers["content-type"]);
    response.sendDate = false;
    // A caller that breaks off is noticed by the close that follows.
    response.on("error", ignore);
    request.on("error", ignore);
    response.on("close", () => {
      if (!response.writableFinished) cancellation.cancel(new CallerGone());
    });
    try {
      const knock = {
        method,
        url,
        rawHeaders: request.rawHeaders,
        ...channel,
        isUpgrade: false,
        needsHost: request.httpVersion === "1.1",
      };
      const reading = this.#options.door.read(knock, visit);
      const { expectsContinue = false } = channel;
      await this.#serve(reading, { request, response, visit, cancellation, expectsContinue }, isGrpc);
    } catch (error) {
      this.#fail({ error, response, visit, isGrpc });
    } finally {
      this.#options.observer.finish(visit);
    }
  }

  async #serve(reading: Reading, service: Service, isGrpc: boolean): Promise<void> {
    const { route } = reading;
    if (route === undefined || this.#options.own.answers(reading)) {
      await this.#options.own.handle(reading, service);
      return;
    }
    // It would show the caller what the router adds for the sandbox alone.
    if (reading.knock.method === "TRACE") throw new RouterError("MethodNotAllowed", "Method not allowed here: TRACE");
    const admitted = this.#options.door.admit(reading, route, service.visit);
    const guest = admitted instanceof Promise ? await admitted : admitted;
    try {
      await (isGrpc ? this.#options.grpc.serve(guest, service) : this.#forward(guest, service));
    } finally {
      guest[Symbol.dispose]();
    }
  }

  async #forward(guest: Guest, service: Service): Promise<void> {
    const { door, observer, timeoutMs, maxBodyBytes } = this.#options;
    const { visit, cancellation } = service;
    const { head } = guest.reading;
    refuseLongBody(head.contentLength, maxBodyBytes);
    const limitMs = requestTimeoutMs(head.timeout, timeoutMs);
    const timer = setTimeout(() => cancellation.cancel(timedOut(guest.route.name)), limitMs);
    try {
      const { target, connection } = this.#quickly(guest) ?? (await this.#patiently(guest, service));
      const use = door.using(target);
      try {
        const made = door.headersFor(guest.reading, target, visit.requestId);
        const headers = observer.trace(visit, made instanceof Promise ? await made : made);
        const onHead = (status: number): void => {
          visit.status = status;
          if (status === 401) door.tokenRefused(target);
        };
        const onProgress = (): void => void timer.refresh();
        await this.#exchange(guest, service, { connection, headers, onHead, onProgress });
      } catch (error) {
        void connection.destroy();
        throw error;
      } finally {
        use[Symbol.dispose]();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** The way of nearly all requests: the sandbox is ready and a connection to it is free. */
  #quickly(guest: Guest): Reached<Upstream> | undefined {
    const target = this.#options.door.ready(guest);
    const connection = target && this.#options.pool.take(target);
    return target && connection && { target, connection };
  }

  #patiently(guest: Guest, { visit, cancellation }: Service): Promise<Reached<Upstream>> {
    const { door, pool } = this.#options;
    const open = (target: Target) => pool.take(target) ?? pool.open(target, cancellation.signal);
    return door.connect(guest, visit, { cancellation, open });
  }

  async #exchange(
    { reading, route }: Guest,
    { request, response, visit, cancellation, expectsContinue }: Service,
    { connection, headers, onHead, onProgress }: Exchange,
  ): Promise<void> {
    const isHttp2 = request.httpVersionMajor === 2;
    const hasBody = isHttp2 ? !hasEnded(request) : reading.head.hasBody;
    const onWanted = (): void => {
      if (expectsContinue) response.writeContinue();
    };
    const { maxBodyBytes: maxBytes } = this.#options;
    const body = hasBody ? new BodySource(request, { maxBytes, onProgress, onWanted }) : null;
    const onBytes = (count: number): void => {
      visit.bytesOut += count;
      onProgress();
    };
    const relay = new Relay({ response, cancellation, name: route.name, isHttp2, hasBody, onBytes, onHead });
    cancellation.throwIfCancelled();
    connection.dispatch({ method: reading.knock.method, path: route.target, headers, body }, relay);
    if (await relay.done) connection.release();
    else void connection.destroy();
  }

  #fail({
    error,
    response,
    visit,
    isGrpc,
  }: {
    error: unknown;
    response: ServerResponse;
    visit: Visit;
    isGrpc: boolean;
  }): void {
    if (error instanceof CallerGone) {
      visit.status = callerGoneStatus;
      visit.reason = "CallerGone";
      response.destroy();
      return;
    }
    const answer = asRouterError(error);
    visit.reason = answer.reason;
    if (!response.headersSent) visit.status = answer.status;
    this.#options.observer.failed(visit, answer);
    sendError(response, answer, { requestId: visit.requestId, isGrpc });
  }
}

const ignore = (): void => undefined;

function isGrpcType(contentType: string | undefined): boolean {
  return contentType?.startsWith("application/grpc") === true;
}

/** HTTP/2 says with the headers whether a body follows. */
function hasEnded(request: IncomingMessage): boolean {
  return (request as unknown as Http2ServerRequest).stream.endAfterHeaders;
}

function refuseLongBody(contentLength: string | undefined, maxBytes: number): void {
  if (maxBytes === 0 || contentLength === undefined || Number(contentLength) <= maxBytes) return;
  throw new RouterError("BodyTooLarge", "The request body is too large.");
}
