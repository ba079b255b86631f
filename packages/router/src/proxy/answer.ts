/**
 * - `none`: no body follows, whatever the headers say (HEAD, 204, 304).
 * - `sized`: as long as the `Content-Length` among the headers says.
 * - `open`: it ends when it ends.
 */
export type AnswerBody = "none" | "sized" | "open";

export interface AnswerHead {
  readonly status: number;
  /** The usual words for the status when absent. */
  readonly message?: string;
  /** Names and values in turn, none of them about the connection. */
  readonly headers: readonly string[];
  readonly body: AnswerBody;
}

/** Where the answer to one request goes, whatever protocol the request came by. */
export interface Answer {
  /** Whether its head was given: nothing else can be said any more. */
  readonly hasBegun: boolean;
  /** Told when there is room again. */
  onDrain: (() => void) | undefined;
  /** What is queued for it counts towards this namespace from now on. */
  assign(namespace: string): void;
  begin(head: AnswerHead): void;
  /** False when so much is queued that the rest should wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  /** Sends what was said so far; until then small pieces are gathered. */
  flush(): void;
  end(): void;
  /** Breaks it off: half an answer must not look whole. */
  destroy(): void;
}

/**
 * Four reads of a socket: enough to keep both sides busy, and with the read under way all that a reader who takes nothing can
 * make us hold. At least twice a socket's own high-water mark (64 KiB): with less, no drain may be told, and who waits
 * for one waits for ever.
 */
export const mostQueuedBytes: number = 256 * 1024;

/** Gives an answer of the router's own. */
export function answerWhole(
  answer: Answer,
  {
    status,
    headers,
    body = "",
  }: { readonly status: number; readonly headers: readonly string[]; readonly body?: string },
): void {
  const bytes = Buffer.from(body);
  answer.begin({ status, headers: [...headers, "content-length", String(bytes.length)], body: "sized" });
  if (bytes.length > 0) answer.write(bytes);
  answer.end();
}
