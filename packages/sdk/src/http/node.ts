import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { ConnectionLost, type HttpRequest, type HttpResponse, type HttpTls, type SendHttp } from "./exchange.ts";

export interface NodeHttpOptions {
  /** Each running command has a connection. Further requests to the same server wait for one. Default: 512. */
  readonly maxSockets?: number;
}

/** Sends requests with Node's own HTTP client, which Deno and Bun have too. Connections are kept for later requests. */
export class NodeHttp implements Disposable {
  readonly #plain: http.Agent;
  readonly #secure: https.Agent;

  constructor({ maxSockets = 512 }: NodeHttpOptions = {}) {
    this.#plain = new http.Agent({ keepAlive: true, maxSockets });
    this.#secure = new https.Agent({ keepAlive: true, maxSockets });
  }

  readonly send: SendHttp = (request) =>
    new Promise((resolve, reject) => {
      const { method, url, headers, body, signal, tls } = request;
      const isSecure = url.startsWith("https:");
      const options = {
        method,
        headers: { ...headers, ...lengthOf(body) },
        agent: isSecure ? this.#secure : this.#plain,
        ...tlsOptions(tls),
      };
      const call = isSecure ? https.request(url, options) : http.request(url, options);
      const abort = (): void => void call.destroy(asError(signal?.reason));
      let isSent = false;
      call.once("socket", (socket: Socket) => {
        if (call.reusedSocket || !socket.connecting) isSent = true;
        else socket.once(isSecure ? "secureConnect" : "connect", () => (isSent = true));
      });
      call.once("error", (error) => {
        signal?.removeEventListener("abort", abort);
        reject(signal?.aborted === true ? signal.reason : new ConnectionLost(isSent, error));
      });
      call.once("response", (response) => {
        const end = (): void => signal?.removeEventListener("abort", abort);
        resolve(readResponse(response, request, end));
      });
      if (signal?.aborted === true) return abort();
      signal?.addEventListener("abort", abort, { once: true });
      sendBody(call, body);
    });

  [Symbol.dispose](): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }
}

/** Node sends the body of a DELETE without its length. */
function lengthOf(body: HttpRequest["body"]): Record<string, string> {
  if (typeof body === "string") return { "content-length": String(Buffer.byteLength(body)) };
  return body instanceof Uint8Array ? { "content-length": String(body.length) } : {};
}

function sendBody(call: http.ClientRequest, body: HttpRequest["body"]): void {
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) return void call.end(body);
  const stream = Readable.from(body, { objectMode: false });
  stream.once("error", (error) => call.destroy(error));
  call.once("close", () => stream.destroy());
  stream.pipe(call);
}

function readResponse(response: http.IncomingMessage, { signal }: HttpRequest, end: () => void): HttpResponse {
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of response) yield chunk as Uint8Array;
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : new ConnectionLost(true, error);
    } finally {
      end();
    }
  }
  const header = (name: string): string | undefined => {
    const value = response.headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(", ") : value;
  };
  return { status: response.statusCode ?? 0, header, body: body() };
}

function tlsOptions(tls: HttpTls | undefined): https.RequestOptions {
  if (tls === undefined) return {};
  const { ca, serverName, insecure, cert, key } = tls;
  return {
    ...(ca !== undefined && { ca }),
    ...(serverName !== undefined && { servername: serverName }),
    ...(insecure === true && { rejectUnauthorized: false }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
