import { requestTimeout } from "../router-error.ts";

/** A request's body as a stream with flow control. */
export interface RequestBody {
  /** From Content-Length. Undefined if the client did not send it. */
  readonly length: number | undefined;
  /** Starts reading. Sends `100 Continue` if the client waits for it. */
  start(sink: BodySink): void;
  pause(): void;
  resume(): void;
  /** Drops the rest of the body. The sink is not called again. */
  abandon(): void;
}

export interface BodySink {
  onBody(chunk: Buffer): void;
  onBodyEnd(): void;
  /** The body ended before it was complete. */
  onBodyError(error: Error): void;
}

/** The client disconnected before the body was complete. */
export class BodyCutOff extends Error {
  override readonly name = "BodyCutOff";

  constructor() {
    super("The request body is incomplete");
  }
}

/** The body exceeds the limit. */
export class BodyTooLong extends Error {
  override readonly name = "BodyTooLong";

  constructor() {
    super("The request body is too long");
  }
}

export interface ReadLimits {
  readonly maxBytes: number;
  /** How long the client may take to send the whole body. */
  readonly withinMs: number;
}

/** Reads a whole body into memory. */
export async function readWhole(body: RequestBody | undefined, limits: ReadLimits): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const giveUp = (error: Error): void => {
    body.abandon();
    reject(error);
  };
  const timer = setTimeout(() => giveUp(requestTimeout()), limits.withinMs);
  const chunks: Buffer[] = [];
  let bytes = 0;
  body.start({
    onBody: (chunk) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > limits.maxBytes) giveUp(new BodyTooLong());
    },
    onBodyEnd: () => resolve(Buffer.concat(chunks)),
    onBodyError: reject,
  });
  return await promise.finally(() => clearTimeout(timer));
}
