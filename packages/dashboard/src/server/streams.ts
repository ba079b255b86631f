import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { checkRequestToken } from "./check-request.ts";
import { kubePath } from "./paths.ts";
import type { Session } from "./sessions.ts";
import type { Upstream } from "./upstream.ts";

const maxStreams = 64;
const maxMessageBytes = 16 * 1024;
/** More waiting output pauses the streams until the browser has read. */
const highWaterBytes = 1024 * 1024;
const drainMs = 20;
const pingMs = 30_000;

/** What the page sends. The first message contains the request token: browsers cannot set headers of WebSockets. */
interface Message {
  readonly token?: string;
  readonly open?: number;
  readonly path?: string;
  readonly close?: number;
}

/**
 * Carries the watches and followed logs of a page over one WebSocket, because browsers open only six HTTP connections to a server.
 * Each stream is a GET of the Kubernetes API as the session's user.
 */
export class Streams implements Disposable {
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, perMessageDeflate: false });
  readonly #api: Upstream;

  constructor(api: Upstream) {
    this.#api = api;
  }

  accept(request: IncomingMessage, socket: Duplex, head: Buffer, session: Session): void {
    this.#server.handleUpgrade(request, socket, head, (client) => new Connection(client, session, this.#api));
  }

  [Symbol.dispose](): void {
    for (const client of this.#server.clients) client.terminate();
    this.#server.close();
  }
}

class Connection {
  readonly #client: WebSocket;
  readonly #session: Session;
  readonly #api: Upstream;
  readonly #open = new Map<number, AbortController>();
  #isTrusted = false;
  #isAlive = true;

  constructor(client: WebSocket, session: Session, api: Upstream) {
    [this.#client, this.#session, this.#api] = [client, session, api];
    const end = (): void => client.close(4401, "the session has ended");
    session.signal.addEventListener("abort", end);
    const ping = setInterval(() => this.#ping(), pingMs);
    client.on("pong", () => (this.#isAlive = true));
    client.on("message", (data) => this.#receive(data));
    client.on("error", () => client.terminate());
    client.on("close", () => {
      clearInterval(ping);
      session.signal.removeEventListener("abort", end);
      for (const stream of this.#open.values()) stream.abort();
    });
  }

  #ping(): void {
    if (!this.#isAlive) return this.#client.terminate();
    this.#isAlive = false;
    this.#client.ping();
  }

  #receive(data: RawData): void {
    try {
      const message = JSON.parse((data as Buffer).toString("utf8")) as Message;
      if (!this.#isTrusted) {
        checkRequestToken(`Bearer ${message.token ?? ""}`, this.#session.requestToken);
        this.#isTrusted = true;
      } else if (message.close !== undefined) this.#open.get(message.close)?.abort();
      else if (Number.isSafeInteger(message.open)) void this.#relay(message.open ?? 0, message.path ?? "");
    } catch {
      this.#client.close(4400, "the message is not valid");
    }
  }

  async #relay(id: number, path: string): Promise<void> {
    if (this.#open.has(id)) return;
    if (this.#open.size >= maxStreams) return this.#send({ id, end: true, message: "too many streams are open" });
    const stream = new AbortController();
    this.#open.set(id, stream);
    try {
      const headers = { accept: "application/json" };
      const { token } = this.#session;
      const request = { method: "GET", path: kubePath(path), token, headers, signal: stream.signal };
      const answer = await this.#api.send(request);
      this.#send({ id, status: answer.statusCode });
      for await (const text of answer.setEncoding("utf8")) {
        this.#send({ id, text: text as string });
        await this.#drained();
      }
      this.#send({ id, end: true });
    } catch (error) {
      if (!stream.signal.aborted) this.#send({ id, end: true, message: (error as Error).message });
    } finally {
      this.#open.delete(id);
    }
  }

  #send(message: object): void {
    if (this.#client.readyState === this.#client.OPEN) this.#client.send(JSON.stringify(message));
  }

  async #drained(): Promise<void> {
    while (this.#client.bufferedAmount > highWaterBytes && this.#client.readyState === this.#client.OPEN) {
      await new Promise((resolve) => setTimeout(resolve, drainMs));
    }
  }
}
