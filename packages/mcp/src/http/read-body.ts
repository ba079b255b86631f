import type { IncomingMessage } from "node:http";
import type { FairShare } from "@agent-sandbox/kube";
import { HttpRefusal } from "./http-refusal.ts";

export const maxBodyBytes = 4_194_304;
const bodyMs = 60_000;
const firstBytes = 16_384;

/** A body in memory, and its part of the memory that all requests share. */
export interface HeldBody extends Disposable {
  readonly bytes: Buffer;
  /** Takes more memory, for what is done with the body. */
  reserve(bytes: number): void;
}

/** Reads a body of limited size, in limited time, into the user's share of memory. */
export async function readBody(request: IncomingMessage, user: string, memory: FairShare): Promise<HeldBody> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBodyBytes) throw tooLarge();
  const held = new GrowingBuffer(user, memory);
  const timer = setTimeout(() => request.destroy(), bodyMs).unref();
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) held.add(chunk as Buffer);
    return held;
  } catch (error) {
    held[Symbol.dispose]();
    if (error instanceof HttpRefusal) throw error;
    throw new HttpRefusal(400, "The body did not arrive", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** One piece of memory: a client that sends its body byte by byte costs no object for each. */
class GrowingBuffer implements HeldBody {
  readonly #user: string;
  readonly #memory: FairShare;
  #buffer = Buffer.alloc(0);
  #length = 0;
  #reserved = 0;

  constructor(user: string, memory: FairShare) {
    this.#user = user;
    this.#memory = memory;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > maxBodyBytes) throw tooLarge();
    if (length > this.#buffer.length) this.#grow(Math.min(maxBodyBytes, Math.max(firstBytes, 2 * length)));
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  reserve(bytes: number): void {
    if (!this.#memory.take(this.#user, bytes)) {
      const headers = { "retry-after": "1" };
      throw new HttpRefusal(429, "The requests of this user that are being served need too much memory", { headers });
    }
    this.#reserved += bytes;
  }

  [Symbol.dispose](): void {
    this.#memory.giveBack(this.#user, this.#reserved);
    this.#reserved = 0;
  }

  #grow(size: number): void {
    this.reserve(size - this.#buffer.length);
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

function tooLarge(): HttpRefusal {
  return new HttpRefusal(413, `The body has more than ${maxBodyBytes} bytes: write larger files in parts, with append`);
}
