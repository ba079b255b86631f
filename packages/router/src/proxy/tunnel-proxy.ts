import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Target } from "../cluster/target.ts";
import type { Takeover } from "../http1/caller-connection.ts";
import type { Observer } from "../observe/observer.ts";
import { callerGoneStatus, type Visit } from "../observe/visit.ts";
import type { Route } from "../route/route.ts";
import { asRouterError, type RouterError } from "../router-error.ts";
import { CallerGone, Cancellation } from "./cancellation.ts";
import type { FrontDoor } from "./front-door.ts";
import { errorBytes } from "./send-error.ts";
import type { Splices } from "./splices.ts";

export interface TunnelProxyOptions {
  readonly door: FrontDoor;
  readonly dial: (target: Target, signal?: AbortSignal) => Promise<Socket>;
  readonly splices: Splices;
  readonly observer: Observer;
}

/** Any bytes to any port: CONNECT, and what listens for one port of one sandbox. */
export class TunnelProxy {
  readonly #options: TunnelProxyOptions;

  constructor(options: TunnelProxyOptions) {
    this.#options = options;
  }

  /** `CONNECT <sandbox>.<namespace>.<domain>:<port>`, or any authority beside the routing headers. */
  async handleConnect({ url, rawHeaders, channel, socket, early }: Takeover): Promise<void> {
    const { door, observer } = this.#options;
    const visit = observer.begin("CONNECT", url, channel.peer);
    const cancellation = cancelledWith(socket);
    try {
      const reading = door.readTunnel(
        { method: "CONNECT", url, rawHeaders, ...channel, isUpgrade: true, needsHost: false },
        visit,
      );
      using guest = await door.admit(reading, reading.route, visit);
      const { target, connection } = await door.connect(guest, visit, {
        cancellation,
        open: (found) => this.#options.dial(found, cancellation.signal),
      });
      visit.status = 200;
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (early.length > 0) connection.write(early);
      await this.#join(socket, connection, { target, visit });
    } catch (error) {
      const answer = this.#failed(error, visit);
      if (answer === undefined) socket.destroy();
      else socket.end(errorBytes(answer));
    } finally {
      observer.finish(visit);
    }
  }

  /** A bare connection that somebody with the right to do so gave a listener of its own. */
  async handleTcp(route: Route, socket: Socket, peer: string): Promise<void> {
    const { door, observer } = this.#options;
    const visit = observer.begin("TCP", `${route.namespace}/${route.name}:${route.port}`, peer);
    const cancellation = cancelledWith(socket);
    try {
      const { target, connection } = await door.connectTrusted(route, visit, {
        cancellation,
        open: (found) => this.#options.dial(found, cancellation.signal),
      });
      visit.status = 200;
      await this.#join(socket, connection, { target, visit });
    } catch (error) {
      this.#failed(error, visit);
      socket.resetAndDestroy();
    } finally {
      observer.finish(visit);
    }
  }

  async #join(socket: Duplex, sandbox: Socket, { target, visit }: { target: Target; visit: Visit }): Promise<void> {
    using _use = this.#options.door.using(target);
    await this.#options.splices.join(socket, sandbox, {
      podUid: target.podUid,
      onBytes: (count) => {
        visit.bytesOut += count;
      },
    });
  }

  #failed(error: unknown, visit: Visit): RouterError | undefined {
    if (error instanceof CallerGone) {
      visit.status = callerGoneStatus;
      return undefined;
    }
    const answer = asRouterError(error);
    visit.status = answer.status;
    visit.reason = answer.reason;
    this.#options.observer.failed(visit, answer);
    return answer;
  }
}

function cancelledWith(socket: Duplex): Cancellation {
  const cancellation = new Cancellation();
  socket.on("error", () => undefined);
  socket.on("close", () => cancellation.cancel(new CallerGone()));
  return cancellation;
}
