/**
 * How the end of a response's body is determined.
 *
 * - `none`: there is no body, whatever the headers say (HEAD, 204, 304).
 * - `sized`: by the `Content-Length` header.
 * - `open`: the length is not known in advance.
 */
export type ResponseBody = "none" | "sized" | "open";

export interface ResponseStart {
  readonly status: number;
  /** Default: the standard reason phrase of the status. */
  readonly message?: string;
  /** Names and values alternate, without hop-by-hop headers. */
  readonly headers: readonly string[];
  readonly body: ResponseBody;
}

/** Writes the response to one request, for HTTP/1.1 or HTTP/2. */
export interface ResponseWriter {
  /** Whether the status and headers were sent. */
  readonly hasBegun: boolean;
  /** Called when `write` may be called again after it returned false. */
  onDrain: (() => void) | undefined;
  /** Unsent bytes of the response count towards this namespace from now on. */
  assign(namespace: string): void;
  /** Adds headers to the response, whoever begins it. Names and values alternate. */
  addHeaders(headers: readonly string[]): void;
  begin(head: ResponseStart): void;
  /** False if the rest should wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  /** Sends buffered bytes. Small writes are buffered until then. */
  flush(): void;
  end(): void;
  /** Aborts the response, so that the client does not take it as complete. */
  destroy(): void;
}

/**
 * The unsent bytes at which a sender is paused: four reads of a socket, which keeps both sides busy. It must be at least
 * twice a socket's high-water mark (64 KiB). Otherwise no `drain` event may follow, and the sender would wait for ever.
 */
export const maxQueuedBytes: number = 256 * 1024;

/** Sends a complete response that the router itself generates. */
export function sendResponse(
  response: ResponseWriter,
  {
    status,
    headers,
    body = "",
  }: { readonly status: number; readonly headers: readonly string[]; readonly body?: string },
): void {
  const bytes = Buffer.from(body);
  response.begin({ status, headers: [...headers, "content-length", String(bytes.length)], body: "sized" });
  if (bytes.length > 0) response.write(bytes);
  response.end();
}
