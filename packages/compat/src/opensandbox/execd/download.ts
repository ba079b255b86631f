import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathInUrl, sendRest } from "../../runtime/rest.ts";
import { OpenSandboxError } from "../failure.ts";
import type { ExecdCall } from "./context.ts";
import { invalidRequest, missingQuery } from "./execd-error.ts";
import { type LineWindow, linesIn } from "./line-window.ts";
import { pathsOf } from "./paths.ts";

const relayed = ["content-length", "content-range", "accept-ranges", "etag", "last-modified"] as const;

const usualHeaders = {
  "content-type": "application/octet-stream",
  "content-disposition": "attachment",
  "x-content-type-options": "nosniff",
};

/** `GET /files/download?path=…`: a file, a range of its bytes, or some of its lines. */
export async function download(call: ExecdCall): Promise<void> {
  const { context, target, request, response, url, signal } = call;
  const requested = url.searchParams.get("path") ?? "";
  if (requested === "") throw missingQuery("path");
  const lines = readWindow(url.searchParams);
  const { range } = request.headers;
  if (lines !== undefined && range !== undefined) throw invalidRequest("Range cannot be used with offset and limit");
  const path = (await pathsOf(call)).resolve(requested);
  const headers = range === undefined ? {} : { range };
  const wanted = { method: "GET", path: `/v1/files${pathInUrl(path)}`, headers, signal };
  const answer = await sendRest(context.runtime, target, wanted);
  if (answer.headers["content-type"] !== "application/octet-stream") {
    // A listing, or several ranges in one answer.
    answer.destroy();
    throw new OpenSandboxError(400, "INVALID_FILE", `${path} is a directory, or Range has more than one range`);
  }
  if (lines === undefined) {
    response.writeHead(answer.statusCode ?? 200, { ...picked(answer), ...usualHeaders });
    await pipeline(answer, response);
    return;
  }
  response.writeHead(200, usualHeaders);
  await pipeline(Readable.from(linesIn(answer, lines)), response);
}

function picked({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    relayed.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]] as const])),
  );
}

function readWindow(query: URLSearchParams): LineWindow | undefined {
  const [offset, limit] = ["offset", "limit"].map((name) => {
    const text = query.get(name);
    if (text === null) return undefined;
    if (!/^\d{1,15}$/.test(text)) throw invalidRequest(`${name} must be a number of lines`);
    return Number(text);
  });
  if (offset === undefined && limit === undefined) return undefined;
  if (offset === 0) throw invalidRequest("offset is the number of a line, and the first line is 1");
  return { first: offset ?? 1, count: limit ?? Number.POSITIVE_INFINITY };
}
