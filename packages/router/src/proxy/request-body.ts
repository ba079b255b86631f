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

/** All of a body that may have so many bytes. */
export function readWhole(body: RequestBody | undefined, mostBytes: number): Promise<Buffer> {
  if (body === undefined) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    body.start({
      onBody: (chunk) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes <= mostBytes) return;
        body.abandon();
        reject(new BodyTooLong());
      },
      onBodyEnd: () => resolve(Buffer.concat(chunks)),
      onBodyError: reject,
    });
  });
}
