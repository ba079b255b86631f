import type { Target } from "../cluster/target.ts";
import type { Deadlines, Timed } from "../deadlines.ts";
import type { UpstreamConnection } from "../http1/upstream-connection.ts";
import type { Observer } from "../observe/observer.ts";
import { callerGoneStatus, pathOf, type Visit } from "../observe/visit.ts";
import { asRouterError, RouterError } from "../router-error.ts";
import { CallerGone } from "./cancellation.ts";
import type { FrontDoor, Guest, Reading } from "./front-door.ts";
import type { GrpcProxy } from "./grpc-proxy.ts";
import type { Incoming } from "./incoming.ts";
import type { OwnRoutes } from "./own-routes.ts";
import type { Reached } from "./pathfinder.ts";
import { Relay } from "./relay.ts";
import { requestTimeoutMs, timedOut } from "./request-timeout.ts";
import { sendError, sendGrpcError } from "./send-error.ts";
import type { UpstreamPool } from "./upstream-pool.ts";
import { WatchedBody } from "./watched-body.ts";

export interface HttpProxyOptions {
  readonly door: FrontDoor;
  readonly pool: UpstreamPool;
  readonly grpc: GrpcProxy;
  readonly own: OwnRoutes;
  readonly observer: Observer;
  readonly deadlines: Deadlines;
  /** How long a request may stand still. */
  readonly timeoutMs: number;
  /** 0: any. */
  readonly maxBodyBytes: number;
}

/** Answers HTTP requests: its own few, and those it passes on. */
export class HttpProxy {
  readonly #options: HttpProxyOptions;

  constructor(options: HttpProxyOptions) {
    this.#options = options;
  }

  async handle(incoming: Incoming): Promise<void> {
    const { observer, door } = this.#options;
    const { method, url, rawHeaders, channel, needsHost } = incoming;
    const { peer, isSecure, certificate } = channel;
    const visit = observer.begin(method, pathOf(url), peer);
    try {
      const knock = { method, url, rawHeaders, peer, isSecure, certificate, isUpgrade: false, needsHost };
      await this.#serve(door.read(knock, visit), incoming, visit);
    } catch (error) {
      this.#fail(error, incoming, visit);
    } finally {
      observer.finish(visit);
    }
  }

  async #serve(reading: Reading, incoming: Incoming, visit: Visit): Promise<void> {
    const { route } = reading;
    if (route === undefined || this.#options.own.answers(reading)) {
      await this.#options.own.handle(reading, incoming, visit);
      return;
    }
    // It would show the caller what the router adds for the sandbox alone.
    if (reading.knock.method === "TRACE") throw new RouterError("MethodNotAllowed", "Method not allowed here: TRACE");
    const admitted = this.#options.door.admit(reading, route, visit);
    const guest = admitted instanceof Promise ? await admitted : admitted;
    try {
      if (isGrpc(incoming)) await this.#options.grpc.serve(guest, incoming, visit);
      else await this.#forward(guest, incoming, visit);
    } finally {
      guest[Symbol.dispose]();
    }
  }

  async #forward(guest: Guest, incoming: Incoming, visit: Visit): Promise<void> {
    const { door, observer, deadlines, timeoutMs, maxBodyBytes } = this.#options;
    const { head } = guest.reading;
    refuseLongBody(head.contentLength, maxBodyBytes);
    const patience = new Patience(requestTimeoutMs(head.timeout, timeoutMs), guest.route.name, incoming);
    deadlines.watch(patience);
    try {
      const { target, connection } = this.#quickly(guest) ?? (await this.#patiently(guest, incoming, visit));
      const use = door.using(target);
      try {
        const made = door.headersFor(guest.reading, target, visit.requestId);
        const headers = observer.trace(visit, made instanceof Promise ? await made : made);
        const onHead = (status: number): void => {
          visit.status = status;
          if (status === 401) door.tokenRefused(target);
        };
        await this.#exchange(guest, incoming, { visit, connection, headers, patience, onHead });
      } catch (error) {
        connection.destroy();
        throw error;
      } finally {
        use[Symbol.dispose]();
      }
    } finally {
      deadlines.forget(patience);
    }
  }

  /** The way of nearly all requests: the sandbox is ready and a connection to it is free. */
  #quickly(guest: Guest): Reached<UpstreamConnection> | undefined {
    const target = this.#options.door.ready(guest);
    const connection = target && this.#options.pool.take(target);
    return target && connection && { target, connection };
  }

  #patiently(guest: Guest, { cancellation }: Incoming, visit: Visit): Promise<Reached<UpstreamConnection>> {
    const { door, pool } = this.#options;
    const open = (target: Target) => pool.take(target) ?? pool.open(target, cancellation.signal);
    return door.connect(guest, visit, { cancellation, open });
  }

  #exchange({ reading, route }: Guest, incoming: Incoming, exchange: Exchange): Promise<void> {
    const { visit, connection, headers, patience, onHead } = exchange;
    const { answer, cancellation } = incoming;
    const { maxBodyBytes: maxBytes } = this.#options;
    const body = incoming.body && new WatchedBody(incoming.body, { maxBytes, onProgress: () => patience.renew() });
    const onBytes = (count: number): void => {
      visit.bytesOut += count;
      patience.renew();
    };
    const relay = new Relay(connection, { answer, cancellation, name: route.name, onBytes, onHead });
    const isEmpty = reading.head.contentLength !== undefined;
    return relay.run({ method: incoming.method, path: route.target, headers, body, isEmpty });
  }

  #fail(error: unknown, incoming: Incoming, visit: Visit): void {
    const { answer, body } = incoming;
    if (error instanceof CallerGone) {
      visit.status = callerGoneStatus;
      visit.reason = "CallerGone";
      answer.destroy();
      return;
    }
    const refusal = asRouterError(error);
    visit.reason = refusal.reason;
    if (!answer.hasBegun) visit.status = refusal.status;
    this.#options.observer.failed(visit, refusal);
    body?.abandon();
    (isGrpc(incoming) ? sendGrpcError : sendError)(answer, refusal, visit.requestId);
  }
}

interface Exchange {
  readonly visit: Visit;
  readonly connection: UpstreamConnection;
  readonly headers: string[];
  readonly patience: Patience;
  readonly onHead: (status: number) => void;
}

/** How long a request may still stand still. */
class Patience implements Timed {
  deadlineMs: number;
  readonly #limitMs: number;
  readonly #name: string;
  readonly #incoming: Incoming;

  constructor(limitMs: number, name: string, incoming: Incoming) {
    this.#limitMs = limitMs;
    this.#name = name;
    this.#incoming = incoming;
    this.deadlineMs = performance.now() + limitMs;
  }

  renew(): void {
    this.deadlineMs = performance.now() + this.#limitMs;
  }

  onDeadline(): void {
    this.#incoming.cancellation.cancel(timedOut(this.#name));
  }
}

function isGrpc({ http2 }: Incoming): boolean {
  return http2?.request.headers["content-type"]?.startsWith("application/grpc") === true;
}

function refuseLongBody(contentLength: string | undefined, maxBytes: number): void {
  if (maxBytes === 0 || contentLength === undefined || Number(contentLength) <= maxBytes) return;
  throw new RouterError("BodyTooLarge", "The request body is too large.");
}
