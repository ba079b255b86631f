import { SandboxError } from "@agent-sandbox/sdk";
import type { SendHttp } from "@agent-sandbox/sdk/internal";

/**
 * The SDK trusts its sandbox. Here the answers of every tenant's sandbox go through one process, and any program can answer in place of
 * sandboxd. Ends a response when it has more bytes than the SDK would have to keep.
 */
export function boundedSend(send: SendHttp): SendHttp {
  return async (request) => {
    const response = await send(request);
    const { body } = response;
    return { ...response, body: limited(body, limitFor(request.method, new URL(request.url))) };
  };
}

const mebibyte = 1_048_576;
const longestWhole = 8 * mebibyte;
/** A page of 500 objects. */
const longestList = 64 * mebibyte;
/** An entry of a tree is a path and some numbers. */
const longestLine = 65_536;
/** sandboxd sends output in pieces of 4 KiB. */
const longestMessage = mebibyte;

/** Returns the bytes that have to be kept after a chunk, and their limit. */
interface Limit {
  readonly longest: number;
  kept(chunk: Uint8Array): number;
}

function limitFor(method: string, { pathname: path, searchParams }: URL): Limit | undefined {
  // The tools read these in pieces, as far as they need.
  if (method === "GET" && path.startsWith("/v1/files/")) return undefined;
  if (/^\/v1\/contexts\/[^/]+\/execute$/.test(path)) return undefined;
  if (path.startsWith("/v1/tree/")) return new LineLimit(longestLine);
  if (/^\/process\.v1\.ProcessService\/(?:Start|Attach)$/.test(path)) return new MessageLimit();
  if (path.startsWith("/apis/") && searchParams.has("watch")) return new LineLimit(longestWhole);
  return new WholeLimit(path.startsWith("/apis/") ? longestList : longestWhole);
}

async function* limited(body: AsyncIterable<Uint8Array>, limit: Limit | undefined): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    if (limit !== undefined && limit.kept(chunk) > limit.longest) {
      throw new SandboxError("LimitExceeded", `The server sent more than ${limit.longest} bytes of one answer`);
    }
    yield chunk;
  }
}

class WholeLimit implements Limit {
  readonly longest: number;
  #total = 0;

  constructor(longest: number) {
    this.longest = longest;
  }

  kept(chunk: Uint8Array): number {
    this.#total += chunk.length;
    return this.#total;
  }
}

class LineLimit implements Limit {
  readonly longest: number;
  #length = 0;

  constructor(longest: number) {
    this.longest = longest;
  }

  kept(chunk: Uint8Array): number {
    const [first, last] = [chunk.indexOf(0x0a), chunk.lastIndexOf(0x0a)];
    const ended = this.#length + (first === -1 ? chunk.length : first);
    this.#length = first === -1 ? ended : chunk.length - last - 1;
    return Math.max(ended, this.#length);
  }
}

/** Five bytes are in front of each message: flags, and its length. */
const prefixBytes = 5;

class MessageLimit implements Limit {
  readonly longest = longestMessage;
  #prefix = 0;
  #length = 0;
  #left = 0;

  kept(chunk: Uint8Array): number {
    let largest = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const used = Math.min(this.#left, chunk.length - at);
        this.#left -= used;
        at += used;
        continue;
      }
      this.#length = this.#prefix === 0 ? 0 : this.#length * 256 + (chunk[at] ?? 0);
      at++;
      if (++this.#prefix < prefixBytes) continue;
      largest = Math.max(largest, this.#length);
      this.#left = this.#length;
      this.#prefix = 0;
    }
    return largest;
  }
}
