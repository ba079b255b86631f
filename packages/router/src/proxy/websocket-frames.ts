/**
 * Finds the boundaries of WebSocket frames, because only there the router may insert a frame of its own. `left` is the
 * number of bytes missing of the current frame; `header` holds the bytes received of an incomplete frame header.
 */
export class WebSocketFrames {
  #left = 0n;
  #header: number[] = [];

  /** Whether the next byte starts a frame. */
  get isBetween(): boolean {
    return this.#left === 0n && this.#header.length === 0;
  }

  take(chunk: Uint8Array): void {
    let index = 0;
    while (index < chunk.length) {
      if (this.#left > 0n) {
        const rest = BigInt(chunk.length - index);
        const step = rest < this.#left ? rest : this.#left;
        this.#left -= step;
        index += Number(step);
      } else {
        this.#header.push(chunk[index] as number);
        index += 1;
        this.#readHeader();
      }
    }
  }

  /** RFC 6455, 5.2: two bytes, then an extended length if needed, then the masking key if there is one. */
  #readHeader(): void {
    const second = this.#header[1];
    if (second === undefined) return;
    const short = second & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const size = 2 + lengthBytes + ((second & 0x80) === 0 ? 0 : 4);
    if (this.#header.length < size) return;
    const long = this.#header.slice(2, 2 + lengthBytes).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    this.#left = lengthBytes === 0 ? BigInt(short) : long;
    this.#header = [];
  }
}

/** The status code of a close frame that a client sent; undefined if the bytes are anything but that one frame. */
export function closeCodeIn(bytes: Buffer): number | undefined {
  const [first = 0, second = 0] = bytes;
  const size = second & 0x7f;
  if (first !== 0x88 || (second & 0x80) === 0 || bytes.length !== 6 + size) return undefined;
  const byteAt = (index: number): number => (bytes[6 + index] ?? 0) ^ (bytes[2 + index] ?? 0);
  // 1005: there is no code.
  return size < 2 ? 1005 : (byteAt(0) << 8) | byteAt(1);
}

/** The router stops. */
export function goingAwayFrame(): Buffer {
  return closeFrame(1001, "going away");
}

/** A close frame from a server (RFC 6455, 5.5.1). The reason may have at most 123 bytes. */
export function closeFrame(code: number, reason = ""): Buffer {
  if (code === 1005) return Buffer.from([0x88, 0]);
  const text = Buffer.from(reason);
  if (text.length > 123) throw new Error(`Cannot make a close frame: the reason has ${text.length} bytes`);
  return Buffer.concat([Buffer.from([0x88, 2 + text.length, code >> 8, code & 255]), text]);
}
