import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type Answer, type AnswerHead, mostQueuedBytes } from "../proxy/answer.ts";
import type { Backlog } from "../proxy/backlog.ts";
import { sendChunk } from "./send-chunk.ts";

export interface Http1AnswerOptions {
  /** HTTP/1.0 knows no chunks: a body whose length is not known ends with the connection. */
  readonly minorVersion: 0 | 1;
  /** Whether the connection ends with this answer. */
  readonly isLast: boolean;
  readonly backlog: Backlog;
  /** Told once, when all of it was given to the socket. */
  readonly onEnd: (isLast: boolean) => void;
}

/** Pieces up to this size are copied into one write; a larger one is cheaper to send as it is. */
const smallBytes = 4096;

/** An answer over a connection of its own: HTTP/1.1 as bytes. */
export class Http1Answer implements Answer {
  hasBegun = false;
  onDrain: (() => void) | undefined;
  readonly #socket: Socket;
  readonly #options: Http1AnswerOptions;
  #isLast: boolean;
  #isChunked = false;
  /** Said and not sent yet: each character is one byte. */
  #text = "";

  constructor(socket: Socket, options: Http1AnswerOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#isLast = options.isLast;
  }

  /** Has the connection end with this answer, if its head is not on its way yet. */
  beLast(): void {
    if (!this.hasBegun) this.#isLast = true;
  }

  /** Asks for the body, if the caller waits to be asked. */
  continue(): void {
    if (!this.hasBegun) this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n", "latin1");
  }

  assign(namespace: string): void {
    this.#options.backlog.assign(this.#socket, namespace);
  }

  begin({ status, message = STATUS_CODES[status] ?? "", headers, body }: AnswerHead): void {
    this.hasBegun = true;
    let text = `HTTP/1.1 ${status} ${message}\r\n`;
    for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
    if (body === "open") {
      this.#isChunked = this.#options.minorVersion === 1;
      if (this.#isChunked) text += "Transfer-Encoding: chunked\r\n";
      else this.#isLast = true;
    }
    if (this.#isLast) text += "Connection: close\r\n";
    this.#text = `${text}\r\n`;
  }

  write(chunk: Buffer): boolean {
    const behind = this.#isChunked ? "\r\n" : "";
    if (this.#isChunked) this.#text += `${chunk.length.toString(16)}\r\n`;
    if (chunk.length <= smallBytes) {
      this.#text += chunk.toString("latin1") + behind;
    } else {
      this.#socket.cork();
      this.flush();
      sendChunk(this.#socket, chunk);
      this.#text = behind;
      this.#socket.uncork();
    }
    this.#options.backlog.wrote(this.#socket);
    return this.#socket.writableLength + this.#text.length < mostQueuedBytes;
  }

  flush(): void {
    if (this.#text === "") return;
    this.#socket.write(this.#text, "latin1");
    this.#text = "";
  }

  end(): void {
    if (this.#isChunked) this.#text += "0\r\n\r\n";
    this.flush();
    this.#options.backlog.wrote(this.#socket);
    this.#options.onEnd(this.#isLast);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
