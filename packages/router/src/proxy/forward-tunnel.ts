import type { Socket } from "node:net";
import type { Target } from "../cluster/target.ts";
import type { Exchange, Forwarder, UsedUpstream } from "../request/exchange.ts";
import type { SplicedClient, Splices } from "./splices.ts";
import { abortStream } from "./stream-end.ts";

export interface TunnelForwarderOptions {
  readonly dial: (target: Target, signal?: AbortSignal) => Promise<Socket>;
  readonly splices: Splices;
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

  forward(exchange: Exchange, upstream: UsedUpstream<Socket>, onDone: (error?: unknown) => void): void {
    this.#forward(exchange, upstream).then(() => onDone(), onDone);
  }

  /** Settles when the tunnel is closed. */
  join(client: SplicedClient, { target, connection, use }: UsedUpstream<Socket>): Promise<void> {
    return this.#options.splices.join(client, connection, { target, use });
  }

  async #forward({ client, route, record }: Exchange, upstream: UsedUpstream<Socket>): Promise<void> {
    const { cancellation, upgrade } = client;
    if (upgrade === undefined) throw new Error("Cannot open a tunnel: the request asks for none");
    const { stream, early } = upgrade;
    cancellation.throwIfCancelled();
    record.status = upgrade.accept([], { route, epoch: upstream.target.epoch });
    cancellation.onCancel = () => abortStream(stream);
    await this.join({ stream, early, record }, upstream);
  }
}
