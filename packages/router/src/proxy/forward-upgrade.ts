import type { Socket } from "node:net";
import type { Target } from "../cluster/target.ts";
import type { ResponseHeadText } from "../http1/parse-head.ts";
import type { UpstreamConnection } from "../http1/upstream-connection.ts";
import type { UpgradeRequest } from "../request/client-request.ts";
import type { Exchange, Forwarder, Upstream, UsedUpstream } from "../request/exchange.ts";
import { RouterError } from "../router-error.ts";
import { Misdirected } from "../upstream/misdirected.ts";
import type { RuntimeTokens } from "../upstream/runtime-tokens.ts";
import type { UpstreamHeaders } from "../upstream/upstream-headers.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { ResponseRelay } from "./response-relay.ts";
import type { Splices } from "./splices.ts";
import { abortStream } from "./stream-end.ts";

export interface UpgradeForwarderOptions {
  readonly pool: UpstreamPool;
  readonly headers: UpstreamHeaders;
  readonly runtimeTokens: RuntimeTokens;
  readonly splices: Splices;
}

/** The sandbox's 101 response and the connection it switched. */
interface Switched {
  readonly head: ResponseHeadText;
  readonly socket: Socket;
}

/**
 * Forwards requests to switch protocols. Only a 101 response of the sandbox joins the two connections. Any other response
 * is relayed and closes the client's connection, so that nothing the client sends after it can reach the sandbox.
 */
export class UpgradeForwarder implements Forwarder<UpstreamConnection> {
  readonly #options: UpgradeForwarderOptions;

  constructor(options: UpgradeForwarderOptions) {
    this.#options = options;
  }

  /** A connection that switches protocols is never returned to the pool, so it is not taken from there either. */
  take(): undefined {
    return undefined;
  }

  open(target: Target, { client }: Exchange): Promise<UpstreamConnection> {
    return this.#options.pool.open(target, client.cancellation.signal);
  }

  /** What the client has sent since is still held by the router. */
  mayRepeat(): boolean {
    return true;
  }

  forward(exchange: Exchange, upstream: UsedUpstream<UpstreamConnection>, onDone: (error?: unknown) => void): void {
    this.#forward(exchange, upstream).then(() => onDone(), onDone);
  }

  async #forward(exchange: Exchange, { target, connection, use }: UsedUpstream<UpstreamConnection>): Promise<void> {
    const { upgrade } = exchange.client;
    if (upgrade === undefined) throw new Error("Cannot forward an upgrade: the request asks for none");
    try {
      const headers = await this.#options.headers.build(exchange, target);
      const switched = await this.#send(exchange, upgrade, { target, connection, headers });
      if (switched !== undefined) await this.#join(exchange, upgrade, { ...switched, target, use });
    } catch (error) {
      if (error instanceof Misdirected) this.#options.pool.discard(target);
      throw error;
    } finally {
      connection.destroy();
    }
  }

  /** Undefined if the sandbox did not switch protocols; its response has been relayed then. */
  #send(
    exchange: Exchange,
    { protocol = "" }: UpgradeRequest,
    { target, connection, headers }: Upstream<UpstreamConnection> & { readonly headers: string[] },
  ): Promise<Switched | undefined> {
    const { client, record, route } = exchange;
    const { method, response, cancellation } = client;
    const { promise, resolve, reject } = Promise.withResolvers<Switched | undefined>();
    const onUpgrade = (head: ResponseHeadText, socket: Socket): void => {
      exchange.stopTimeout();
      resolve({ head, socket });
    };
    const relay = new ResponseRelay(
      connection,
      { response, cancellation, route, epoch: target.epoch, onUpgrade },
      {
        onHead: (status) => {
          this.#options.runtimeTokens.checkResponse(target, status);
          if (method === "CONNECT") refuseSuccess(status);
          record.status = status;
        },
        onBytes: (count) => {
          record.bytesOut += count;
          exchange.stopTimeout();
        },
        onDone: (error) => (error === undefined ? resolve(undefined) : reject(error)),
      },
    );
    // Servers compare Origin with Host, and Host is the pod's address here.
    const own = withoutHeader(headers, "origin");
    relay.run({ method: "GET", path: route.target, headers: own, body: undefined, upgrade: protocol });
    return promise;
  }

  async #join(
    { client: { cancellation }, route, record }: Exchange,
    upgrade: UpgradeRequest,
    { head, socket, target, use }: Switched & Pick<UsedUpstream<unknown>, "target" | "use">,
  ): Promise<void> {
    const { stream, early, protocol = "" } = upgrade;
    try {
      cancellation.throwIfCancelled();
      record.status = upgrade.accept(head.rawHeaders, { route, epoch: target.epoch });
    } catch (error) {
      socket.destroy();
      throw error;
    }
    cancellation.onCancel = () => abortStream(stream);
    const isWebSocket = protocol.toLowerCase() === "websocket";
    await this.#options.splices.join({ stream, early, record }, socket, { target, use, isWebSocket });
  }
}

/** The client of an extended CONNECT takes every 2xx response for an accepted upgrade. */
function refuseSuccess(status: number): void {
  if (status >= 300) return;
  throw new RouterError("BadUpstream", `The sandbox answered ${status} instead of switching protocols.`);
}

function withoutHeader(headers: readonly string[], name: string): string[] {
  return headers.filter((_, index) => headers[index - (index % 2)]?.toLowerCase() !== name);
}
