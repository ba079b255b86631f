import type { Socket } from "node:net";
import type { Target } from "../cluster/target.ts";
import type { ResponseHeadText } from "../http1/parse-head.ts";
import type { UpstreamConnection } from "../http1/upstream-connection.ts";
import type { Observer } from "../observe/observer.ts";
import { pathOf, type Visit } from "../observe/visit.ts";
import { routeErrors } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import { CallerGone, Cancellation } from "./cancellation.ts";
import { EarlyBytes } from "./early-bytes.ts";
import type { FrontDoor, Guest } from "./front-door.ts";
import { breakOff } from "./line.ts";
import { Misdirected } from "./misdirected.ts";
import { Relay } from "./relay.ts";
import { requestTimeoutMs, timedOut } from "./request-timeout.ts";
import { sendError } from "./send-error.ts";
import type { Splices } from "./splices.ts";
import type { Takeover } from "./takeover.ts";
import type { UpstreamPool } from "./upstream-pool.ts";

export interface UpgradeProxyOptions {
  readonly door: FrontDoor;
  readonly pool: UpstreamPool;
  readonly splices: Splices;
  readonly observer: Observer;
  readonly timeoutMs: number;
}

/** The caller's end of a request that wants to change protocols. */
interface Caller {
  readonly takeover: Takeover;
  readonly early: EarlyBytes;
  readonly visit: Visit;
  readonly cancellation: Cancellation;
}

/** What a request to change protocols is made with. */
interface Asking {
  readonly target: Target;
  readonly connection: UpstreamConnection;
  readonly headers: string[];
  readonly onAnswer: () => void;
}

/** The sandbox's end, once it has agreed. */
interface Agreed {
  readonly head: ResponseHeadText;
  readonly socket: Socket;
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

  async handle(takeover: Takeover): Promise<void> {
    const { observer, door } = this.#options;
    const { method, url, rawHeaders, channel, needsHost, line, early: head } = takeover;
    const visit = observer.begin(method, pathOf(url), channel.peer);
    const cancellation = new Cancellation();
    const onGone = (): void => cancellation.cancel(new CallerGone());
    const early = new EarlyBytes(line, { head, mayHalfClose: false, onGone });
    const caller: Caller = { takeover, early, visit, cancellation };
    try {
      const reading = door.read({ method, url, rawHeaders, ...channel, isUpgrade: true, needsHost }, visit);
      refuseUnknown(takeover);
      const { route } = reading;
      if (route === undefined) throw new RouterError("InvalidRequest", routeErrors.missingId);
      using guest = await door.admit(reading, route, visit);
      using _guard = door.guard(guest, cancellation);
      await this.#pass(guest, caller);
    } catch (error) {
      this.#fail(error, caller);
    } finally {
      observer.finish(visit);
    }
  }

  async #pass(guest: Guest, caller: Caller): Promise<void> {
    const { cancellation } = caller;
    const limitMs = requestTimeoutMs(guest.reading.head.timeout, this.#options.timeoutMs);
    const timer = setTimeout(() => cancellation.cancel(timedOut(guest.route.name)), limitMs);
    const onAnswer = (): void => clearTimeout(timer);
    try {
      await this.#send(guest, caller, onAnswer);
    } catch (error) {
      if (!(error instanceof Misdirected)) throw error;
      // A runtime that is another's has done nothing, and what the caller said meanwhile is still here.
      await this.#send(guest, caller, onAnswer);
    } finally {
      clearTimeout(timer);
    }
  }

  async #send(guest: Guest, caller: Caller, onAnswer: () => void): Promise<void> {
    const { door, pool, observer } = this.#options;
    const { visit, cancellation } = caller;
    const { target, connection } = await door.connect(guest, visit, {
      cancellation,
      open: (found) => pool.open(found, cancellation.signal),
    });
    using _use = door.using(target);
    try {
      const headers = observer.trace(visit, await door.headersFor(guest.reading, target, visit.requestId));
      const agreed = await this.#ask(guest, caller, { target, connection, headers, onAnswer });
      if (agreed !== undefined) await this.#join(guest, caller, { ...agreed, podUid: target.podUid });
    } catch (error) {
      if (error instanceof Misdirected) pool.discard(target);
      throw error;
    } finally {
      connection.destroy();
    }
  }

  /** The sandbox's end of the connection, or nothing when it answered something else. */
  #ask(
    { route }: Guest,
    { visit, cancellation, takeover }: Caller,
    { target, connection, headers, onAnswer }: Asking,
  ): Promise<Agreed | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Agreed | undefined>();
    const onUpgrade = (head: ResponseHeadText, socket: Socket): void => {
      onAnswer();
      resolve({ head, socket });
    };
    const relay = new Relay(
      connection,
      { answer: takeover.answer, cancellation, route, onUpgrade },
      {
        onHead: (status) => {
          this.#options.door.answered(target, status);
          refuseSuccess(takeover, status);
          visit.status = status;
        },
        onBytes: (count) => {
          visit.bytesOut += count;
          onAnswer();
        },
        onDone: (error) => (error === undefined ? resolve(undefined) : reject(error)),
      },
    );
    // Backends compare Origin with Host, which is another one behind the router.
    const own = withoutHeader(headers, "origin");
    relay.run({ method: "GET", path: route.target, headers: own, body: undefined, upgrade: takeover.upgrade });
    return promise;
  }

  async #join(
    { route }: Guest,
    { takeover, early, visit, cancellation }: Caller,
    agreed: Agreed & { readonly podUid: string },
  ): Promise<void> {
    try {
      cancellation.throwIfCancelled();
      visit.status = takeover.accept(agreed.head.rawHeaders, route);
    } catch (error) {
      agreed.socket.destroy();
      throw error;
    }
    cancellation.onCancel = () => breakOff(takeover.line);
    agreed.socket.write(early.release());
    await this.#options.splices.join(takeover.line, agreed.socket, {
      podUid: agreed.podUid,
      namespace: route.namespace,
      isWebSocket: isWebSocket(takeover),
      onBytes: (count) => {
        visit.bytesOut += count;
      },
    });
  }

  #fail(error: unknown, { visit, takeover }: Caller): void {
    const { answer } = takeover;
    const refusal = this.#options.observer.failed(visit, error, answer);
    if (refusal === undefined) answer.destroy();
    else sendError(answer, refusal, visit.requestId);
  }
}

function isWebSocket({ upgrade }: Takeover): boolean {
  return upgrade.toLowerCase() === "websocket";
}

/** Over HTTP/2 each protocol is carried in its own way: what the router does not know it cannot turn into an upgrade. */
function refuseUnknown(takeover: Takeover): void {
  if (takeover.method !== "CONNECT" || isWebSocket(takeover)) return;
  throw new RouterError("UnknownProtocol", "The only :protocol that can be carried over HTTP/2 is websocket.");
}

/** To CONNECT every success means that the line is the caller's. */
function refuseSuccess({ method }: Takeover, status: number): void {
  if (method !== "CONNECT" || status >= 300) return;
  throw new RouterError("BadUpstream", `The sandbox answered ${status} instead of switching protocols.`);
}

function withoutHeader(headers: readonly string[], name: string): string[] {
  return headers.filter((_, index) => headers[index - (index % 2)]?.toLowerCase() !== name);
}
