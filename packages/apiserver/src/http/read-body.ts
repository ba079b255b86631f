import type { IncomingMessage } from "node:http";
import { ApiError, badRequest } from "../api-error.ts";
import { parsedProblem } from "../json.ts";

export const maxBodyBytes: number = 3 * 1024 * 1024;

/** The most a hostile client can make a parser keep; JSON of this many bytes is far beyond any stored object. */
const tooLarge = (): ApiError =>
  new ApiError("RequestEntityTooLarge", `Request entity is too large: limit is ${maxBodyBytes} bytes`);

/** Reads and parses the body of a request; `undefined` when it has none. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBodyBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  if (length === 0) return undefined;
  checkMediaType(request.headers["content-type"]);
  return parseJson(Buffer.concat(chunks));
}

const jsonTypes = new Set([
  "application/json",
  "application/merge-patch+json",
  "application/json-patch+json",
  "application/strategic-merge-patch+json",
]);

function checkMediaType(contentType: string | undefined): void {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "application/json";
  if (jsonTypes.has(type)) return;
  throw new ApiError(
    "UnsupportedMediaType",
    `the body of the request was in an unsupported format "${type}" - accepted media types include: ${[...jsonTypes].join(", ")}`,
  );
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function parseJson(bytes: Buffer): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw badRequest(`Cannot read the body: ${error instanceof Error ? error.message : "it is not JSON"}`);
  }
  const problem = parsedProblem(parsed);
  if (problem !== undefined) throw badRequest(`Cannot read the body: ${problem}`);
  return parsed;
}
