import type { Socket } from "node:net";
import type { ActivityTracker } from "../activity/activity-tracker.ts";
import type { Target } from "../cluster/target.ts";
import type { TunnelForwarder } from "../proxy/forward-tunnel.ts";
import { abortStream } from "../proxy/stream-end.ts";
import type { Route } from "../route/route.ts";
import type { RequestTelemetry } from "../telemetry/request-telemetry.ts";
import type { UpstreamConnector } from "../upstream/connector.ts";
import { readAheadBytes } from "../wake/wait-queue.ts";
import { Cancellation, ClientDisconnected } from "./cancellation.ts";
import { EarlyBytes } from "./early-bytes.ts";

export interface TcpHandlerOptions {
  readonly connector: UpstreamConnector;
  readonly activity: ActivityTracker;
  readonly tunnel: TunnelForwarder;
  readonly dial: (target: Target, signal?: AbortSignal) => Promise<Socket>;
  readonly telemetry: RequestTelemetry;
}

/**
 * Handles connections to a TCP listener. The listener determines the route, and everyone who can connect to it is
 * trusted, so there is nothing to parse and nobody to authorize. The other steps are those of `handle-request.ts`.
 */
export class TcpHandler {
  readonly #options: TcpHandlerOptions;

  constructor(options: TcpHandlerOptions) {
    this.#options = options;
  }

  async handle(route: Route, socket: Socket, peer: string): Promise<void> {
    const { connector, activity, tunnel, dial, telemetry } = this.#options;
    const record = telemetry.begin("TCP", `${route.namespace}/${route.name}:${route.port}`, peer);
    record.sandbox = route.name;
    const cancellation = new Cancellation();
    const onGone = (): void => cancellation.cancel(new ClientDisconnected());
    const early = new EarlyBytes(socket, { head: Buffer.alloc(0), mayHalfClose: true, onGone });
    try {
      const upstream = await connector.connectTo(route, {
        record,
        cancellation,
        heldBytes: readAheadBytes,
        open: (target) => dial(target, cancellation.signal),
      });
      record.namespace = route.namespace;
      record.status = 200;
      using use = activity.begin(upstream.target.sandbox);
      await tunnel.join({ stream: socket, early, record }, { ...upstream, use });
    } catch (error) {
      telemetry.failed(record, error);
      abortStream(socket);
    } finally {
      telemetry.finish(record);
    }
  }
}
