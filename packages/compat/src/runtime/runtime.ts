import { Agent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type RouterRefusal, refusalOf, unreachable } from "./router-refusal.ts";

/** The router ends a request in which nothing happens for three minutes. */
export const keepAliveSeconds = 60;

/** The ports of sandboxd. */
export const restPort = 8080;
export const rpcPort = 9090;

/** A sandbox, and the token with which requests are sent to it. */
export interface Target {
  readonly namespace: string;
  readonly name: string;
  /** The Sandbox must have this UID. */
  readonly uid: string;
  readonly token: string;
}

export interface RuntimeRequest {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Buffer | string | Readable;
  readonly signal?: AbortSignal;
}

const maxIdleConnections = 256;

/** Sends requests to sandboxes through the router, which authorizes them, wakes the sandbox and adds the daemon's token. */
export class Runtime implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: maxIdleConnections });
  readonly #router: () => URL;

  /** `router` is the address of the router's plain listener. */
  constructor(router: () => URL) {
    this.#router = router;
  }

  get agent(): Agent {
    return this.#agent;
  }

  /** Where to connect, and the headers that name the sandbox. */
  route(
    { namespace, name, uid, token }: Target,
    port: number,
  ): { readonly url: URL; readonly headers: OutgoingHttpHeaders } {
    const headers = {
      "x-sandbox-id": name,
      "x-sandbox-namespace": namespace,
      "x-sandbox-uid": uid,
      "x-sandbox-port": String(port),
      "x-sandbox-authorization": `Bearer ${token}`,
    };
    return { url: this.#router(), headers };
  }

  /** Returns the sandbox's answer, whatever its status. Rejects with a `RouterRefusal` if the router answered instead. */
  async send(target: Target, { port, method, path, headers, body, signal }: RuntimeRequest): Promise<IncomingMessage> {
    const { url, headers: routing } = this.route(target, port);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = httpRequest({
      agent: this.#agent,
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port,
      method,
      path,
      headers: { ...headers, ...routing },
      ...(signal !== undefined && { signal }),
    });
    sent.on("response", resolve);
    sent.on("error", (error) => reject(unreachable(error)));
    if (body === undefined || typeof body === "string" || Buffer.isBuffer(body)) sent.end(body);
    // An error is reported by `sent`, or by the answer that came before the end of the body.
    else pipeline(body, sent).catch(() => undefined);
    const answer = await promise;
    const refusal = await refusalOf(answer);
    if (refusal !== undefined) throw refusal;
    return answer;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

export type { RouterRefusal };
