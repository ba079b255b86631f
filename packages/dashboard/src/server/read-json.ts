import type { IncomingMessage } from "node:http";
import { badRequest, HttpFailure } from "./http-failure.ts";

const maxBytes = 4096;
const readMs = 10_000;

/** Reads a small body. No body is an empty object. */
export async function readJson(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const timer = setTimeout(() => request.destroy(), readMs);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes)
        throw new HttpFailure(413, "RequestEntityTooLarge", `The body has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    const text = Buffer.concat(chunks).toString("utf8");
    const found: unknown = text === "" ? {} : JSON.parse(text);
    if (typeof found === "object" && found !== null) return found as Record<string, unknown>;
  } catch (error) {
    if (error instanceof HttpFailure) throw error;
  } finally {
    clearTimeout(timer);
  }
  throw badRequest("The body is not a JSON object");
}
