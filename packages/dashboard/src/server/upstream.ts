import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  type RequestOptions,
  request as sendPlain,
} from "node:http";
import { Agent as SecureAgent, request as sendSecure } from "node:https";
import type { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { HttpFailure, tooMany } from "./http-failure.ts";
import { UserShare } from "./user-share.ts";

export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** Whose token the request carries. A login has no user yet, and counts in no share. */
  readonly session: { readonly token: string; readonly user?: string };
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer | Readable;
  readonly signal?: AbortSignal;
}

export interface UpstreamOptions {
  /** The certificate authority of the server, in PEM. */
  readonly ca?: string | undefined;
  readonly maxRequests?: number;
}

/** Watches, followed logs and transfers take long. Some connections are left for logins. */
const mostRequests = 2048;
const connections = { keepAlive: true, maxSockets: mostRequests + 64, maxFreeSockets: 16 };
const callMs = 30_000;

/** The API server or the router. Every request carries the token of a user. */
export class Upstream implements Disposable {
  readonly #url: URL;
  readonly #agent: PlainAgent | SecureAgent;
  readonly #share: UserShare;

  constructor(url: string, { ca, maxRequests = mostRequests }: UpstreamOptions = {}) {
    this.#url = new URL(url);
    this.#share = new UserShare({ total: maxRequests, perUser: maxRequests / 4 });
    const isSecure = this.#url.protocol === "https:";
    this.#agent = isSecure ? new SecureAgent({ ...connections, ...(ca && { ca }) }) : new PlainAgent(connections);
  }

  /** Resolves with the head of the response. Rejects with 502 if the server cannot be reached, and with 429 above the user's share. */
  async send(request: UpstreamRequest): Promise<IncomingMessage> {
    const { user } = request.session;
    const slot = user === undefined ? undefined : this.#share.hold(user);
    if (user !== undefined && slot === undefined) throw tooMany("This user has too many open requests");
    let sent: ClientRequest;
    try {
      sent = this.#open(request);
    } catch (error) {
      // A header is not valid.
      slot?.[Symbol.dispose]();
      throw error;
    }
    return new Promise((resolve, reject) => {
      sent.on("response", resolve);
      sent.on("close", () => slot?.[Symbol.dispose]());
      sent.on("error", (cause) => reject(new HttpFailure(502, "ServiceUnavailable", unreachable, { cause })));
      const { body } = request;
      if (body === undefined || typeof body === "string" || Buffer.isBuffer(body)) sent.end(body);
      else body.on("error", () => sent.destroy()).pipe(sent);
    });
  }

  #open({ method, path, session, headers = {}, signal }: UpstreamRequest): ClientRequest {
    const { hostname, port, protocol, host } = this.#url;
    const options: RequestOptions = {
      method,
      path,
      protocol,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      agent: this.#agent,
      headers: { ...headers, host, authorization: `Bearer ${session.token}` },
      ...(signal && { signal }),
    };
    return protocol === "https:" ? sendSecure(options) : sendPlain(options);
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
