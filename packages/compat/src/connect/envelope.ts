import { ByteQueue } from "../http/byte-queue.ts";

/** The frames of a Connect stream: one byte of flags, four bytes of length, then the message. */
const prefixBytes = 5;
export const endFlag = 2;
const compressedFlag = 1;

export interface Frame {
  readonly flags: number;
  readonly data: Buffer;
}

export class FrameError extends Error {
  override readonly name = "FrameError";
}

export function encodeFrame(message: unknown, flags = 0): Buffer {
  const text = JSON.stringify(message);
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(prefixBytes + length);
  frame.writeUInt8(flags, 0);
  frame.writeUInt32BE(length, 1);
  frame.write(text, prefixBytes);
  return frame;
}

/** Rejects with a `FrameError` if a frame is compressed, longer than `maxBytes` or incomplete. */
export async function* readFrames(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Frame> {
  using rest = new ByteQueue();
  for await (const chunk of body) {
    rest.push(chunk);
    while (rest.length >= prefixBytes) {
      const prefix = rest.peek(prefixBytes);
      const flags = prefix.readUInt8(0);
      const length = prefix.readUInt32BE(1);
      if ((flags & compressedFlag) !== 0) throw new FrameError("Compressed messages are not supported");
      if (length > maxBytes) throw new FrameError(`A message has ${length} bytes; the limit is ${maxBytes}`);
      if (rest.length < prefixBytes + length) break;
      yield { flags, data: rest.take(prefixBytes + length).subarray(prefixBytes) };
    }
  }
  if (rest.length > 0) throw new FrameError("The last message is incomplete");
}
