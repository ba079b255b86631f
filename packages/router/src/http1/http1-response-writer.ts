import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Backlog } from "../proxy/backlog.ts";
import { maxQueuedBytes, type ResponseStart, type ResponseWriter } from "../request/response-writer.ts";
import { sendChunk } from "./send-chunk.ts";

export interface Http1ResponseWriterOptions {
  /** HTTP/1.0 has no chunked coding: a body of unknown length ends with the connection. */
  readonly minorVersion: 0 | 1;
  /** Whether the connection is closed after this response. */
  readonly isLast: boolean;
  readonly backlog: Backlog;
  /** Called once, when the whole response was written to the socket. */
  readonly onEnd: (isLast: boolean) => void;
}

/** Chunks up to this size are copied into one write. Larger ones are cheaper to write separately. */
const smallBytes = 4096;

/** Writes a response to an HTTP/1.1 connection. */
export class Http1ResponseWriter implements ResponseWriter {
  hasBegun = false;
  onDrain: (() => void) | undefined;
  readonly #socket: Duplex;
  readonly #options: Http1ResponseWriterOptions;
  #isLast: boolean;
  #isChunked = false;
  #added = "";
  /** Buffered output. Each character is one byte. */
  #text = "";

  constructor(socket: Duplex, options: Http1ResponseWriterOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#isLast = options.isLast;
  }

  /** Closes the connection after this response, unless its head was already written. */
  beLast(): void {
    if (!this.hasBegun) this.#isLast = true;
  }

  /** Sends `100 Continue`. */
  continue(): void {
    if (!this.hasBegun) this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n", "latin1");
  }

  assign(namespace: string): void {
    this.#options.backlog.assign(this.#socket, namespace);
  }

  addHeaders(headers: readonly string[]): void {
    this.#added += headerLines(headers);
  }

  begin({ status, message = STATUS_CODES[status] ?? "", headers, body }: ResponseStart): void {
    this.hasBegun = true;
    let text = `HTTP/1.1 ${status} ${message}\r\n${headerLines(headers)}${this.#added}`;
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
    return this.#socket.writableLength + this.#text.length < maxQueuedBytes;
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

function headerLines(headers: readonly string[]): string {
  let text = "";
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return text;
}
