import { tooLate } from "../router-error.ts";

/** A request's body, handed over as it comes and no faster than it is taken. */
export interface RequestBody {
  /** Bytes in all, if the caller said so. */
  readonly length: number | undefined;
  /** Has it come. A caller that waits to be asked for it is asked. */
  start(sink: BodySink): void;
  pause(): void;
  resume(): void;
  /** Nothing more of it is wanted; the sink hears no more. */
  abandon(): void;
}

export interface BodySink {
  onBody(chunk: Buffer): void;
  onBodyEnd(): void;
  /** There will be no more of it, and it is not whole. */
  onBodyError(error: Error): void;
}

/** The caller went away in the midst of its body. */
export class BodyCutOff extends Error {
  override readonly name = "BodyCutOff";

  constructor() {
    super("The body was cut off");
  }
}

/** The body is longer than the reader takes. */
export class BodyTooLong extends Error {
  override readonly name = "BodyTooLong";

  constructor() {
    super("The body is too long");
  }
}

export interface ReadLimits {
  readonly mostBytes: number;
  /** How long the caller may take for all of it. */
  readonly withinMs: number;
}

/** All of a body, within limits. */
export async function readWhole(body: RequestBody | undefined, limits: ReadLimits): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const giveUp = (error: Error): void => {
    body.abandon();
    reject(error);
  };
  const timer = setTimeout(() => giveUp(tooLate()), limits.withinMs);
  const chunks: Buffer[] = [];
  let bytes = 0;
  body.start({
    onBody: (chunk) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > limits.mostBytes) giveUp(new BodyTooLong());
    },
    onBodyEnd: () => resolve(Buffer.concat(chunks)),
    onBodyError: reject,
  });
  return await promise.finally(() => clearTimeout(timer));
}
