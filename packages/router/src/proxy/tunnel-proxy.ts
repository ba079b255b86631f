import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Target } from "../cluster/target.ts";
import type { Observer } from "../observe/observer.ts";
import { pathOf, type Visit } from "../observe/visit.ts";
import type { Route } from "../route/route.ts";
import { CallerGone, Cancellation } from "./cancellation.ts";
import { EarlyBytes } from "./early-bytes.ts";
import type { FrontDoor } from "./front-door.ts";
import { breakOff } from "./line.ts";
import { sendError } from "./send-error.ts";
import type { Splices } from "./splices.ts";
import type { Takeover } from "./takeover.ts";

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
  async handleConnect(takeover: Takeover): Promise<void> {
    const { door, observer } = this.#options;
    const { url, rawHeaders, channel, line, early: head, answer } = takeover;
    const visit = observer.begin("CONNECT", pathOf(url), channel.peer);
    const { early, cancellation } = attend(line, head);
    try {
      const reading = door.readTunnel(
        { method: "CONNECT", url, rawHeaders, ...channel, isUpgrade: true, needsHost: false },
        visit,
      );
      using guest = await door.admit(reading, reading.route, visit);
      using _guard = door.guard(guest, cancellation);
      const { target, connection } = await door.connect(guest, visit, {
        cancellation,
        open: (found) => this.#options.dial(found, cancellation.signal),
      });
      cancellation.throwIfCancelled();
      visit.status = takeover.accept([], reading.route);
      cancellation.onCancel = () => breakOff(line);
      await this.#join(line, connection, { early, target, visit });
    } catch (error) {
      const refusal = observer.failed(visit, error);
      if (refusal === undefined) answer.destroy();
      else sendError(answer, refusal, visit.requestId);
    } finally {
      observer.finish(visit);
    }
  }

  /** A bare connection that somebody with the right to do so gave a listener of its own. */
  async handleTcp(route: Route, socket: Socket, peer: string): Promise<void> {
    const { door, observer } = this.#options;
    const visit = observer.begin("TCP", `${route.namespace}/${route.name}:${route.port}`, peer);
    const { early, cancellation } = attend(socket, Buffer.alloc(0));
    try {
      const { target, connection } = await door.connectTrusted(route, visit, {
        cancellation,
        open: (found) => this.#options.dial(found, cancellation.signal),
      });
      visit.status = 200;
      await this.#join(socket, connection, { early, target, visit });
    } catch (error) {
      observer.failed(visit, error);
      breakOff(socket);
    } finally {
      observer.finish(visit);
    }
  }

  async #join(
    line: Duplex,
    sandbox: Socket,
    { early, target, visit }: { early: EarlyBytes; target: Target; visit: Visit },
  ): Promise<void> {
    using _use = this.#options.door.using(target);
    const said = early.release();
    if (said.length > 0) sandbox.write(said);
    await this.#options.splices.join(line, sandbox, {
      podUid: target.podUid,
      namespace: target.namespace,
      onBytes: (count) => {
        visit.bytesOut += count;
      },
    });
  }
}

/** Listens to a caller that waits: it may have said all it has to say, and it may leave. */
function attend(line: Duplex, head: Buffer): { readonly early: EarlyBytes; readonly cancellation: Cancellation } {
  const cancellation = new Cancellation();
  const onGone = (): void => cancellation.cancel(new CallerGone());
  return { early: new EarlyBytes(line, { head, mayHalfClose: true, onGone }), cancellation };
}
