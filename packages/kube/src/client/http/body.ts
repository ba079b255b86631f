import { KubeError } from "../../errors.ts";
import type { Exchange, Head } from "./exchange.ts";

/** How much of a body that is not JSON is kept for the error message. */
const shownTextLength = 1024;

/** Reads a whole body of at most `maxBytes`. */
export async function readBody(exchange: Exchange, head: Head, maxBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const arrived of exchange.chunks()) {
    for (const chunk of arrived) {
      chunks.push(chunk);
      length += chunk.length;
    }
    if (length > maxBytes) throw tooLarge(head, maxBytes);
  }
  const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length);
  return decode(head, await decompress(bytes, head, maxBytes));
}

async function decompress(bytes: Buffer, head: Head, maxBytes: number): Promise<Buffer> {
  const encoding = head.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") return bytes;
  if (encoding !== "gzip") throw invalid(head, `it is encoded as "${encoding}", which was not asked for`);
  // Loaded on first use: a program that sends few requests starts 5 ms faster without them.
  const [{ promisify }, { gunzip }] = await Promise.all([import("node:util"), import("node:zlib")]);
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(head, maxBytes);
    throw invalid(head, "its compression is damaged");
  }
}

/** The body of an error may be a proxy's page and is returned as text. The body of a success must be JSON. */
function decode(head: Head, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = bytes.toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    if (head.status < 200 || head.status > 299) return text.slice(0, shownTextLength);
    const shown = text.slice(0, 100).replaceAll(/\s+/g, " ");
    throw invalid(
      head,
      `it is not complete JSON: it has ${bytes.length} bytes and begins with ${JSON.stringify(shown)}`,
    );
  }
}

function tooLarge(head: Head, maxBytes: number): KubeError {
  return invalid(head, `it is larger than ${maxBytes} bytes: ask for smaller pages, or raise maxBodyBytes`);
}

function invalid({ status, headers }: Head, state: string): KubeError {
  const type = headers["content-type"] ?? "no content type";
  return new KubeError("InvalidResponse", `Cannot read the response ${status} (${type}): ${state}`, { code: status });
}
