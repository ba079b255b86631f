import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Target } from "../cluster/target.ts";
import type { EarlyBytes } from "../request/early-bytes.ts";
import type { Exchange, Forwarder, Upstream } from "../request/exchange.ts";
import type { AccessRecord } from "../telemetry/access-record.ts";
import type { Splices } from "./splices.ts";
import { abortStream } from "./stream-end.ts";

export interface TunnelForwarderOptions {
  readonly dial: (target: Target, signal?: AbortSignal) => Promise<Socket>;
  readonly splices: Splices;
}

/** The client's end of a tunnel. */
export interface TunnelClient {
  readonly stream: Duplex;
  readonly early: EarlyBytes;
  readonly record: AccessRecord;
}

/** Forwards CONNECT requests: joins the client with any TCP port of a sandbox. */
export class TunnelForwarder implements Forwarder<Socket> {
  readonly #options: TunnelForwarderOptions;

  constructor(options: TunnelForwarderOptions) {
    this.#options = options;
  }

  take(): undefined {
    return undefined;
  }

  open(target: Target, { client }: Exchange): Promise<Socket> {
    return this.#options.dial(target, client.cancellation.signal);
  }

  mayRepeat(): boolean {
    return false;
  }

  forward(exchange: Exchange, upstream: Upstream<Socket>, onDone: (error?: unknown) => void): void {
    this.#forward(exchange, upstream).then(() => onDone(), onDone);
  }

  /** Settles when the tunnel is closed. */
  async join({ stream, early, record }: TunnelClient, { target, connection }: Upstream<Socket>): Promise<void> {
    const sent = early.release();
    if (sent.length > 0) connection.write(sent);
    await this.#options.splices.join(stream, connection, {
      podUid: target.podUid,
      namespace: target.namespace,
      onBytes: (count) => {
        record.bytesOut += count;
      },
    });
  }

  async #forward({ client, route, record }: Exchange, upstream: Upstream<Socket>): Promise<void> {
    const { cancellation, upgrade } = client;
    if (upgrade === undefined) throw new Error("Cannot open a tunnel: the request asks for none");
    const { stream, early } = upgrade;
    cancellation.throwIfCancelled();
    record.status = upgrade.accept([], { route, epoch: upstream.target.epoch });
    cancellation.onCancel = () => abortStream(stream);
    await this.join({ stream, early, record }, upstream);
  }
}
