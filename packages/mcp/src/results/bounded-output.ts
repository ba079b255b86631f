/** Keeps the beginning and the end of a stream of bytes, and counts what lies between. */
export class BoundedOutput {
  readonly #half: number;
  readonly #head: Uint8Array[] = [];
  readonly #tail: Uint8Array[] = [];
  #headBytes = 0;
  #tailBytes = 0;
  #total = 0;

  /** Keeps at most this many bytes. */
  constructor(maxBytes: number) {
    this.#half = Math.ceil(maxBytes / 2);
  }

  get totalBytes(): number {
    return this.#total;
  }

  get isTruncated(): boolean {
    return this.#total > this.#headBytes + Math.min(this.#tailBytes, this.#half);
  }

  add(bytes: Uint8Array): void {
    this.#total += bytes.length;
    const first = bytes.subarray(0, this.#half - this.#headBytes);
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    const rest = bytes.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Whole pieces only, so that a piece is never copied.
    for (let oldest = this.#tail[0]; oldest !== undefined; oldest = this.#tail[0]) {
      if (this.#tailBytes - oldest.length < this.#half) return;
      this.#tail.shift();
      this.#tailBytes -= oldest.length;
    }
  }

  /** The text, with a line about the bytes that are left out. */
  text(): string {
    const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (!this.isTruncated) return decode(Buffer.concat([head, tail]));
    const kept = wholeStart(head);
    const end = wholeEnd(tail.subarray(Math.max(0, tail.length - this.#half)));
    const missing = this.#total - kept.length - end.length;
    return `${decode(kept)}\n[${missing} bytes left out]\n${decode(end)}`;
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Without a character at the end whose last bytes are missing. */
export function wholeStart(bytes: Uint8Array): Uint8Array {
  let start = bytes.length - 1;
  while (start >= Math.max(0, bytes.length - 4) && isContinuation(bytes[start])) start--;
  const lead = bytes[start] ?? 0;
  const wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start >= 0 && bytes.length - start < wanted ? bytes.subarray(0, start) : bytes;
}

/** Without the last bytes of a character whose first bytes are missing. */
export function wholeEnd(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}
