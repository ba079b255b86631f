import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";

export interface Message {
  /** RFC 6455, 5.2: 1 text, 2 binary, 8 close. */
  readonly opcode: number;
  readonly data: Buffer;
}

/** A WebSocket client over any stream, with one frame per message. */
export class WebSocketEnd {
  readonly #line: Duplex;
  #unread: Buffer[] = [];
  #wanted = 2;

  constructor(line: Duplex) {
    this.#line = line;
    line.pause();
  }

  send(data: Buffer | string): void {
    this.#line.write(frame(Buffer.from(data), typeof data === "string" ? 1 : 2));
  }

  close(code: number, reason: string): void {
    const payload = Buffer.alloc(2 + reason.length);
    payload.writeUInt16BE(code);
    payload.write(reason, 2);
    this.#line.write(frame(payload, 8));
  }

  /** The next message. Throws if the stream ends before it is complete. */
  async next(): Promise<Message> {
    for (;;) {
      const message = this.#take();
      if (message !== undefined) return message;
      const chunk = this.#line.read() as Buffer | null;
      if (chunk !== null) this.#unread.push(chunk);
      else if (this.#line.readableEnded || this.#line.destroyed) throw new Error("the line ended");
      // `readable` is also emitted at the end.
      else await once(this.#line, "readable");
    }
  }

  async text(): Promise<string> {
    return (await this.next()).data.toString();
  }

  #take(): Message | undefined {
    if (this.#unread.reduce((sum, { length }) => sum + length, 0) < this.#wanted) return undefined;
    const bytes = Buffer.concat(this.#unread);
    this.#unread = [bytes];
    const short = (bytes[1] as number) & 0x7f;
    const start = short === 127 ? 10 : short === 126 ? 4 : 2;
    this.#wanted = start;
    if (bytes.length < start) return undefined;
    const length = start === 10 ? Number(bytes.readBigUInt64BE(2)) : start === 4 ? bytes.readUInt16BE(2) : short;
    this.#wanted = start + length;
    if (bytes.length < start + length) return undefined;
    this.#wanted = 2;
    this.#unread = [bytes.subarray(start + length)];
    return { opcode: (bytes[0] as number) & 0x0f, data: bytes.subarray(start, start + length) };
  }
}

/** A message in one masked frame. */
function frame(data: Buffer, opcode: number): Buffer {
  const long = Buffer.alloc(8);
  long.writeBigUInt64BE(BigInt(data.length));
  const [short, extended] =
    data.length < 126 ? [data.length, ""] : data.length < 65_536 ? [126, long.subarray(6)] : [127, long];
  const mask = randomBytes(4);
  const masked = Buffer.from(data);
  for (let index = 0; index < masked.length; index += 1) {
    masked[index] = (masked[index] as number) ^ (mask[index % 4] as number);
  }
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | short]), Buffer.from(extended), mask, masked]);
}
