import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import type { Observer } from "../observe/observer.ts";
import { callerGoneStatus, pathOf, type Visit } from "../observe/visit.ts";
import { routeErrors } from "../route/route.ts";
import { asRouterError, RouterError } from "../router-error.ts";
import { CallerGone, Cancellation } from "./cancellation.ts";
import type { Channel } from "./channel.ts";
import { EarlyBytes } from "./early-bytes.ts";
import type { FrontDoor, Guest } from "./front-door.ts";
import { Relay } from "./relay.ts";
import { requestTimeoutMs, timedOut } from "./request-timeout.ts";
import { responseHead } from "./response-head.ts";
import { sendError } from "./send-error.ts";
import type { Splices } from "./splices.ts";
import type { Upstream, UpstreamPool } from "./upstream-pool.ts";

export interface UpgradeProxyOptions {
  readonly door: FrontDoor;
  readonly pool: UpstreamPool;
  readonly splices: Splices;
  readonly observer: Observer;
  readonly timeoutMs: number;
}

/** The caller's end of a request that wants to change protocols. */
interface Caller {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly early: EarlyBytes;
}

interface Switching {
  readonly visit: Visit;
  readonly cancellation: Cancellation;
  readonly response: ServerResponse;
}

/**
 * Passes on requests to change protocols. Only when the sandbox agrees do the two connections become one; any other
 * answer is passed on as an answer, and ends the connection: what a caller sends behind it is never taken for the
 * sandbox's.
 */
export class UpgradeProxy {
  readonly #options: UpgradeProxyOptions;

  constructor(options: UpgradeProxyOptions) {
    this.#options = options;
  }

  async handle(request: IncomingMessage, socket: Duplex, head: Buffer, channel: Channel): Promise<void> {
    const { observer, door } = this.#options;
    const { method = "", url = "" } = request;
    const visit = observer.begin(method, pathOf(url), channel.peer);
    const cancellation = new Cancellation();
    const response = responseOn(request, socket);
    const early = new EarlyBytes(socket, head, () => cancellation.cancel(new CallerGone()));
    try {
      const knock = { method, url, rawHeaders: request.rawHeaders, ...channel, isUpgrade: true, needsHost: true };
      const reading = door.read(knock, visit);
      const { route } = reading;
      if (route === undefined) throw new RouterError("InvalidRequest", routeErrors.missingId);
      using guest = await door.admit(reading, route, visit);
      await this.#pass(guest, { request, socket, early }, { visit, cancellation, response });
    } catch (error) {
      this.#fail(error, { visit, cancellation, response });
    } finally {
      observer.finish(visit);
    }
  }

  async #pass(guest: Guest, caller: Caller, switching: Switching): Promise<void> {
    const { door, pool, observer, timeoutMs } = this.#options;
    const { visit, cancellation } = switching;
    const limitMs = requestTimeoutMs(guest.reading.head.timeout, timeoutMs);
    const timer = setTimeout(() => cancellation.cancel(timedOut(guest.route.name)), limitMs);
    try {
      const { target, connection } = await door.connect(guest, visit, {
        cancellation,
        open: (found) => pool.open(found, cancellation.signal),
      });
      using _use = door.using(target);
      try {
        const headers = observer.trace(visit, await door.headersFor(guest.reading, target, visit.requestId));
        const sandbox = await this.#ask(guest, switching, {
          connection,
          headers,
          caller,
          onAnswer: () => clearTimeout(timer),
        });
        if (sandbox !== undefined) await this.#join(caller, sandbox, { visit, podUid: target.podUid });
      } finally {
        void connection.destroy();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** The sandbox's end of the connection, or nothing when it answered something else. */
  #ask(
    guest: Guest,
    { visit, cancellation, response }: Switching,
    {
      connection,
      headers,
      caller,
      onAnswer,
    }: { connection: Upstream; headers: string[]; caller: Caller; onAnswer: () => void },
  ): Promise<Duplex | undefined> {
    cancellation.throwIfCancelled();
    const { promise, resolve } = Promise.withResolvers<Duplex>();
    const relay = new Relay({
      response,
      cancellation,
      name: guest.route.name,
      isHttp2: false,
      hasBody: false,
      onBytes: (count) => {
        visit.bytesOut += count;
        onAnswer();
      },
      onHead: (status) => {
        visit.status = status;
      },
    });
    const handler = relay as Dispatcher.DispatchHandler;
    handler.onRequestUpgrade = (controller, status, _, socket) => {
      onAnswer();
      visit.status = status;
      caller.socket.write(switchingHead((controller.rawHeaders ?? []) as Buffer[]));
      resolve(socket);
    };
    const { method } = guest.reading.knock;
    const upgrade = caller.request.headers.upgrade ?? "";
    // Backends compare Origin with Host, which is another one behind the router.
    const own = withoutHeader(headers, "origin");
    connection.dispatch({ method, path: guest.route.target, headers: own, upgrade }, handler);
    return Promise.race([promise, relay.done.then(() => undefined)]);
  }

  async #join(
    { request, socket, early }: Caller,
    sandbox: Duplex,
    { visit, podUid }: { visit: Visit; podUid: string },
  ): Promise<void> {
    sandbox.write(early.release());
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    await this.#options.splices.join(socket, sandbox, {
      podUid,
      isWebSocket,
      onBytes: (count) => {
        visit.bytesOut += count;
      },
    });
  }

  #fail(error: unknown, { visit, response }: Switching): void {
    if (error instanceof CallerGone) {
      visit.status = callerGoneStatus;
      visit.reason = "CallerGone";
      response.socket?.destroy();
      return;
    }
    const answer = asRouterError(error);
    visit.status = answer.status;
    visit.reason = answer.reason;
    this.#options.observer.failed(visit, answer);
    sendError(response, answer, { requestId: visit.requestId, isGrpc: false });
  }
}

/** Lets an upgrade request be answered like any other; the connection ends with the answer. */
function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.sendDate = false;
  response.assignSocket(socket as Socket);
  response.on("finish", () => socket.end());
  return response;
}

function switchingHead(raw: readonly Buffer[]): string {
  const headers = responseHead(raw, { isUpgrade: true });
  const lines: string[] = [];
  for (let index = 0; index < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}\r\n`);
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`;
}

function withoutHeader(headers: readonly string[], name: string): string[] {
  return headers.filter((_, index) => headers[index - (index % 2)]?.toLowerCase() !== name);
}
