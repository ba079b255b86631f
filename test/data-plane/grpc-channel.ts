import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from "node:http2";
import type { Address } from "./ask.ts";
import { decode, encode, type Message, type Method, requests, responses } from "./wire-messages.ts";

export const codes = {
  ok: 0,
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export interface Reply<T> {
  readonly code: number;
  readonly detail: string;
  readonly value: T;
}

export interface Exit {
  readonly exitCode?: number;
  readonly signal?: number;
  readonly timedOut?: boolean;
  readonly descendantsRunning?: boolean;
}

export interface Event {
  readonly init?: { readonly processId: number };
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exit?: Exit;
  readonly offset?: number;
}

export interface Executed extends Exit {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly truncated?: boolean;
}

/** A minimal gRPC client over cleartext HTTP/2. */
export class GrpcChannel implements Disposable {
  readonly #session: ClientHttp2Session;
  readonly #headers: Record<string, string>;

  private constructor(session: ClientHttp2Session, headers: Record<string, string>) {
    this.#session = session;
    this.#headers = headers;
  }

  static async open({ host, port }: Address, headers: Record<string, string>): Promise<GrpcChannel> {
    const session = connect(`http://${host}:${port}`);
    await once(session, "connect");
    session.on("error", () => undefined);
    return new GrpcChannel(session, headers);
  }

  [Symbol.dispose](): void {
    this.#session.destroy();
  }

  async unary<T = Message>(method: Method, request: Message, headers: Record<string, string> = {}): Promise<Reply<T>> {
    const call = this.stream(method, request, headers);
    let value: unknown = {};
    for await (const message of call.events()) value = message;
    return { ...(await call.ended), value: value as T };
  }

  execute(config: Message, more: Message = {}): Promise<Reply<Executed>> {
    return this.unary("Execute", { config, ...more });
  }

  start(config: Message, more: Message = {}): Call {
    return this.stream("Start", { config, ...more });
  }

  stream(method: Method, request: Message, headers: Record<string, string> = {}): Call {
    const content = encode(request, requests[method]);
    return new Call(this.#send(`/process.v1.ProcessService/${method}`, content, headers), method);
  }

  /** Calls any other method. Returns all response messages. */
  async raw(path: string, content: Buffer): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#send(path, content, {})) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  }

  #send(path: string, content: Buffer, headers: Record<string, string>): ClientHttp2Stream {
    const stream = this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...this.#headers,
      ...headers,
    });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(content.length, 1);
    stream.end(Buffer.concat([prefix, content]));
    return stream;
  }
}

/** A call. Its events can be read once. */
export class Call {
  readonly ended: Promise<{ readonly code: number; readonly detail: string }>;
  readonly #stream: ClientHttp2Stream;
  readonly #method: Method;

  constructor(stream: ClientHttp2Stream, method: Method) {
    this.#stream = stream;
    this.#method = method;
    let found: IncomingHttpHeaders = {};
    const read = (headers: IncomingHttpHeaders): void => {
      found = { ...found, ...headers };
    };
    stream.on("response", read);
    stream.on("trailers", read);
    stream.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      stream.once("close", () => {
        const { "grpc-status": code = "1", "grpc-message": detail = "" } = found;
        resolve({ code: Number(code), detail: decodeURIComponent(String(detail)) });
      });
    });
  }

  cancel(): void {
    this.#stream.close(8);
  }

  async *events(): AsyncGenerator<Event> {
    let rest = Buffer.alloc(0);
    for await (const chunk of this.#stream) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      for (let size = sizeOf(rest); size !== undefined && rest.length >= size; size = sizeOf(rest)) {
        yield decode(rest.subarray(5, size), responses[this.#method]);
        rest = rest.subarray(size);
      }
    }
  }

  /** The remaining events and the final status. */
  async rest(): Promise<{ readonly events: readonly Event[]; readonly code: number; readonly detail: string }> {
    const events: Event[] = [];
    for await (const event of this.events()) events.push(event);
    return { events, ...(await this.ended) };
  }
}

function sizeOf(bytes: Buffer): number | undefined {
  return bytes.length < 5 ? undefined : 5 + bytes.readUInt32BE(1);
}
