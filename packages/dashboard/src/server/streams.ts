import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { checkRequestToken } from "./check-request.ts";
import { receivableHeaders } from "./forward.ts";
import type { Session } from "./sessions.ts";
import { type StreamRequest, upstreamRequest } from "./stream-request.ts";
import type { Upstream } from "./upstream.ts";
import { UserShare } from "./user-share.ts";

const maxStreams = 64;
const maxMessageBytes = 16 * 1024;
/** More waiting output pauses the streams until the browser has read. */
const highWaterBytes = 1024 * 1024;
const drainMs = 20;
const pingMs = 30_000;

/** What the page sends. The first message contains the request token: browsers cannot set headers of WebSockets. */
interface Message extends Partial<StreamRequest> {
  readonly token?: string;
  readonly open?: number;
  readonly close?: number;
  /** So many bytes of a response of the runtime API were used. */
  readonly read?: { readonly id: number; readonly bytes: number };
}

interface OpenStream {
  readonly closing: AbortController;
  /** Bytes of the runtime API that the page has not used yet. It cannot slow down a WebSocket otherwise. */
  unreadBytes: number;
}

export interface Upstreams {
  readonly api: Upstream;
  readonly router: Upstream;
}

/**
 * Carries the watches, followed logs and terminals of a page over one WebSocket, because browsers open only six HTTP connections to a
 * server. Each stream is one request as the session's user: a GET of the Kubernetes API, or a POST to the runtime API of a sandbox.
 */
export class Streams implements Disposable {
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, perMessageDeflate: false });
  readonly #upstreams: Upstreams;
  readonly #share = new UserShare({ total: 1000, perUser: 64 });

  constructor(upstreams: Upstreams) {
    this.#upstreams = upstreams;
  }

  /** False if the user has too many. Nothing was sent then. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, session: Session): boolean {
    const slot = this.#share.hold(session.user);
    if (slot === undefined) return false;
    socket.once("close", () => slot[Symbol.dispose]());
    this.#server.handleUpgrade(request, socket, head, (client) => new Connection(client, session, this.#upstreams));
    return true;
  }

  [Symbol.dispose](): void {
    for (const client of this.#server.clients) client.terminate();
    this.#server.close();
  }
}

class Connection {
  readonly #client: WebSocket;
  readonly #session: Session;
  readonly #upstreams: Upstreams;
  readonly #open = new Map<number, OpenStream>();
  #isTrusted = false;
  #isAlive = true;

  constructor(client: WebSocket, session: Session, upstreams: Upstreams) {
    [this.#client, this.#session, this.#upstreams] = [client, session, upstreams];
    const end = (): void => client.close(4401, "the session has ended");
    session.signal.addEventListener("abort", end);
    const ping = setInterval(() => this.#ping(), pingMs);
    client.on("pong", () => (this.#isAlive = true));
    client.on("message", (data) => this.#receive(data));
    client.on("error", () => client.terminate());
    client.on("close", () => {
      clearInterval(ping);
      session.signal.removeEventListener("abort", end);
      for (const stream of this.#open.values()) stream.closing.abort();
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
      } else if (message.close !== undefined) this.#open.get(message.close)?.closing.abort();
      else if (message.read !== undefined) this.#markRead(message.read);
      else if (Number.isSafeInteger(message.open)) void this.#relay(message.open ?? 0, message);
    } catch {
      this.#client.close(4400, "the message is not valid");
    }
  }

  async #relay(id: number, { path = "", runtime }: Partial<StreamRequest>): Promise<void> {
    if (this.#open.has(id)) return;
    if (this.#open.size >= maxStreams) return this.#send({ id, end: true, message: "too many streams are open" });
    const stream: OpenStream = { closing: new AbortController(), unreadBytes: 0 };
    const { signal } = stream.closing;
    this.#open.set(id, stream);
    try {
      const upstream = runtime === undefined ? this.#upstreams.api : this.#upstreams.router;
      const request = upstreamRequest({ path, runtime });
      const answer = await upstream.send({ ...request, session: this.#session, signal });
      if (runtime === undefined) await this.#pass(answer, id, stream);
      else await this.#passBytes(answer, id, stream);
      this.#send({ id, end: true });
    } catch (error) {
      if (!signal.aborted) this.#send({ id, end: true, message: (error as Error).message });
    } finally {
      this.#open.delete(id);
    }
  }

  async #pass(answer: IncomingMessage, id: number, stream: OpenStream): Promise<void> {
    this.#send({ id, status: answer.statusCode });
    for await (const text of answer.setEncoding("utf8")) {
      this.#send({ id, text: text as string });
      await this.#drained(stream);
    }
  }

  /** JSON cannot carry bytes. Each piece is encoded by itself: a decoder would hold bytes back until the next one. */
  async #passBytes(answer: IncomingMessage, id: number, stream: OpenStream): Promise<void> {
    this.#send({ id, status: answer.statusCode, headers: receivableHeaders(answer.headers) });
    for await (const bytes of answer) {
      this.#send({ id, data: (bytes as Buffer).toString("base64") });
      stream.unreadBytes += (bytes as Buffer).length;
      await this.#drained(stream);
    }
  }

  #send(message: object): void {
    if (this.#client.readyState === this.#client.OPEN) this.#client.send(JSON.stringify(message));
  }

  #markRead({ id, bytes }: { readonly id: number; readonly bytes: number }): void {
    const stream = this.#open.get(id);
    if (stream !== undefined && bytes > 0) stream.unreadBytes = Math.max(0, stream.unreadBytes - bytes);
  }

  async #drained(stream: OpenStream): Promise<void> {
    const isFull = (): boolean => Math.max(this.#client.bufferedAmount, stream.unreadBytes) > highWaterBytes;
    const isOpen = (): boolean => this.#client.readyState === this.#client.OPEN && !stream.closing.signal.aborted;
    while (isFull() && isOpen()) await new Promise((resolve) => setTimeout(resolve, drainMs));
  }
}
