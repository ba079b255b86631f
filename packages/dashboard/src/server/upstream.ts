import { type IncomingMessage, Agent as PlainAgent, type RequestOptions, request as sendPlain } from "node:http";
import { Agent as SecureAgent, request as sendSecure } from "node:https";
import type { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { HttpFailure } from "./http-failure.ts";

export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  readonly token: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer | Readable;
  readonly signal?: AbortSignal;
}

const connections = { keepAlive: true, maxSockets: 1024, maxFreeSockets: 16 };
const callMs = 30_000;

/** The API server or the router. Every request carries the token of a user. */
export class Upstream implements Disposable {
  readonly #url: URL;
  readonly #agent: PlainAgent | SecureAgent;

  constructor(url: string, ca?: string) {
    this.#url = new URL(url);
    const isSecure = this.#url.protocol === "https:";
    this.#agent = isSecure ? new SecureAgent({ ...connections, ...(ca && { ca }) }) : new PlainAgent(connections);
  }

  /** Resolves with the head of the response. Rejects with 502 if the server cannot be reached. */
  send({ method, path, token, headers = {}, body, signal }: UpstreamRequest): Promise<IncomingMessage> {
    const { hostname, port, protocol, host } = this.#url;
    const options: RequestOptions = {
      method,
      path,
      protocol,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      agent: this.#agent,
      headers: { ...headers, host, authorization: `Bearer ${token}` },
      ...(signal && { signal }),
    };
    return new Promise((resolve, reject) => {
      const sent = protocol === "https:" ? sendSecure(options, resolve) : sendPlain(options, resolve);
      sent.on("error", (cause) => reject(new HttpFailure(502, "ServiceUnavailable", unreachable, { cause })));
      if (body === undefined || typeof body === "string" || Buffer.isBuffer(body)) sent.end(body);
      else body.on("error", () => sent.destroy()).pipe(sent);
    });
  }

  /** A short exchange, read as a whole. */
  async call(request: UpstreamRequest & { readonly body?: string }): Promise<{ status: number; text: string }> {
    const headers = { accept: "application/json", "content-type": "application/json" };
    const response = await this.send({ ...request, headers, signal: AbortSignal.timeout(callMs) });
    return { status: response.statusCode ?? 0, text: await readText(response) };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

const unreachable = "The server cannot be reached: it may be restarting";
