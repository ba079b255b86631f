/** The part of HTTP that the SDK needs. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: HttpBody;
  readonly signal?: AbortSignal | undefined;
  /** For servers with their own certificate authority, and for client certificates. */
  readonly tls?: HttpTls | undefined;
}

export interface HttpTls {
  readonly ca?: string;
  readonly serverName?: string;
  readonly insecure?: boolean;
  readonly cert?: string;
  readonly key?: string;
}

/** Whether requests with this method change nothing. */
export function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** A body that is a stream can be sent only once. */
export type HttpBody = string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array>;

export interface HttpResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** Can be read once. Ending the iteration early closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Rejects with a ConnectionLost if no response arrives, and with the reason of the signal if that is aborted. */
export type SendHttp = (request: HttpRequest) => Promise<HttpResponse>;

/** No response arrived, or it ended early. */
export class ConnectionLost extends Error {
  override readonly name: string = "ConnectionLost";
  /** Whether the server may have received the request. */
  readonly sent: boolean;

  constructor(sent: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.sent = sent;
  }
}

/** Errors are short. A server that sends more is not trusted to stop. */
const largestErrorBytes = 64 * 1024;

export async function readAll(
  body: AsyncIterable<Uint8Array>,
  largest: number = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= largest) break;
  }
  const all = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return all;
}

export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  return new TextDecoder().decode(await readAll(body));
}

/** The body of an unsuccessful response. Empty if it cannot be read. */
export async function readErrorText({ body }: HttpResponse): Promise<string> {
  return new TextDecoder().decode(await readAll(body, largestErrorBytes).catch(() => new Uint8Array()));
}

/** Reads a body that nobody needs, so that the connection can be used again. */
export async function discard({ body }: HttpResponse): Promise<void> {
  for await (const _ of body);
}
