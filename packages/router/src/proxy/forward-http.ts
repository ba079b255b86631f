import type { Target } from "../cluster/target.ts";
import type { UpstreamConnection } from "../http1/upstream-connection.ts";
import type { Exchange, Forwarder, Upstream, UsedUpstream } from "../request/exchange.ts";
import type { RequestBody } from "../request/request-body.ts";
import { Misdirected } from "../upstream/misdirected.ts";
import type { RuntimeTokens } from "../upstream/runtime-tokens.ts";
import type { UpstreamHeaders } from "../upstream/upstream-headers.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { LimitedBody } from "./limited-body.ts";
import { ResponseRelay, type ResponseRelayObserver } from "./response-relay.ts";

export interface HttpForwarderOptions {
  readonly pool: UpstreamPool;
  readonly headers: UpstreamHeaders;
  readonly runtimeTokens: RuntimeTokens;
  /** 0: no limit. */
  readonly maxBodyBytes: number;
}

/** Forwards HTTP requests over pooled HTTP/1.1 connections. */
export class HttpForwarder implements Forwarder<UpstreamConnection> {
  readonly #options: HttpForwarderOptions;

  constructor(options: HttpForwarderOptions) {
    this.#options = options;
  }

  take(target: Target): UpstreamConnection | undefined {
    return this.#options.pool.take(target);
  }

  open(target: Target, { client }: Exchange): Promise<UpstreamConnection> {
    return this.#options.pool.open(target, client.cancellation.signal);
  }

  /** A body can only be sent once. */
  mayRepeat({ client }: Exchange): boolean {
    return client.body === undefined;
  }

  forward(
    exchange: Exchange,
    { target, connection }: UsedUpstream<UpstreamConnection>,
    onDone: (error?: unknown) => void,
  ): void {
    new ForwardedRequest(this.#options, exchange, { target, connection, onDone }).start();
  }
}

interface ForwardedRequestOptions extends Upstream<UpstreamConnection> {
  readonly onDone: (error?: unknown) => void;
}

/** One request that was sent to a sandbox. */
class ForwardedRequest implements ResponseRelayObserver {
  readonly #options: HttpForwarderOptions;
  readonly #exchange: Exchange;
  readonly #upstream: ForwardedRequestOptions;
  #isDone = false;

  constructor(options: HttpForwarderOptions, exchange: Exchange, upstream: ForwardedRequestOptions) {
    this.#options = options;
    this.#exchange = exchange;
    this.#upstream = upstream;
  }

  start(): void {
    try {
      const headers = this.#options.headers.build(this.#exchange, this.#upstream.target);
      if (!(headers instanceof Promise)) return this.#send(headers);
      headers.then((built) => this.#send(built)).catch((error: unknown) => this.onDone(error));
    } catch (error) {
      this.onDone(error);
    }
  }

  onHead(status: number): void {
    this.#options.runtimeTokens.checkResponse(this.#upstream.target, status);
    this.#exchange.record.status = status;
  }

  onBytes(count: number): void {
    this.#exchange.record.bytesOut += count;
    this.#exchange.extendTimeout();
  }

  onDone(error: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const { target, connection, onDone } = this.#upstream;
    if (error !== undefined) connection.destroy();
    if (error instanceof Misdirected) this.#options.pool.discard(target);
    onDone(error);
  }

  #send(headers: string[]): void {
    const { client, request, route } = this.#exchange;
    const { method, response, cancellation, body } = client;
    const { connection, target } = this.#upstream;
    new ResponseRelay(connection, { response, cancellation, route, epoch: target.epoch }, this).run({
      method,
      path: route.target,
      headers,
      body: body && this.#limited(body),
      isEmpty: request.head.contentLength !== undefined,
    });
  }

  #limited(body: RequestBody): LimitedBody {
    const onProgress = (): void => this.#exchange.extendTimeout();
    return new LimitedBody(body, { maxBytes: this.#options.maxBodyBytes, onProgress });
  }
}
