import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { posix } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { RpcError } from "../../connect/rpc-error.ts";
import { badRequest, HttpError, unauthorized } from "../../http/http-error.ts";
import { readBody } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { pathInUrl, RuntimeError, sendRest } from "../../runtime/rest.ts";
import { type ActingUser, absolutePath, actingUser } from "./acting-user.ts";
import { contentTypeOf } from "./content-type.ts";
import type { EnvdCall } from "./context.ts";
import { readMetadata, storeMetadata } from "./file-metadata.ts";

/** `GET` and `POST /files`. */
export async function serveFiles(call: EnvdCall): Promise<void> {
  const { request, url } = call;
  try {
    const user = await actingUser(call, url.searchParams.get("username") || undefined);
    if (request.method === "GET" || request.method === "HEAD") return await download(call, user);
    if (request.method === "POST") return await upload(call, user);
  } catch (error) {
    throw asFileError(error);
  }
  throw new HttpError(405, "Method not allowed");
}

function asFileError(error: unknown): unknown {
  if (error instanceof RpcError) {
    return error.code === "unauthenticated" ? unauthorized(error.message) : badRequest(error.message);
  }
  if (!(error instanceof RuntimeError)) return error;
  const isFull = /no space left/i.test(error.message);
  // A parent that is a file, or a target that exists as something else.
  const status = isFull ? 507 : error.status === 409 ? 400 : error.status;
  return new HttpError(status, error.message, { cause: error });
}

const relayed = ["content-length", "content-range", "accept-ranges", "etag", "last-modified"] as const;
const conditional = ["range", "if-range", "if-none-match", "if-match", "if-modified-since"] as const;

async function download(call: EnvdCall, user: ActingUser): Promise<void> {
  const { context, target, request, response, url, signal } = call;
  const path = absolutePath(url.searchParams.get("path") ?? "", user);
  const answer = await sendRest(context.runtime, target, {
    method: request.method ?? "GET",
    path: `/v1/files${pathInUrl(path)}`,
    headers: picked(request, conditional),
    signal,
  });
  if (answer.headers["content-type"] !== "application/octet-stream") {
    // A listing.
    answer.destroy();
    throw badRequest(`path is a directory: ${path}`);
  }
  const name = posix.basename(path);
  response.writeHead(answer.statusCode ?? 200, {
    ...picked(answer, relayed),
    "content-type": contentTypeOf(name),
    "content-disposition": `inline; filename*=UTF-8''${encodeURIComponent(name)}`,
    vary: "Accept-Encoding",
    // On a host name that other sandboxes share, a page must not run as if it were theirs.
    "content-security-policy": "sandbox",
    "x-content-type-options": "nosniff",
  });
  await pipeline(answer, response);
}

function picked(from: IncomingMessage, names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(
    names.flatMap((name) => (from.headers[name] === undefined ? [] : [[name, from.headers[name]]])),
  );
}

async function upload(call: EnvdCall, user: ActingUser): Promise<void> {
  const { request, url } = call;
  const named = url.searchParams.get("path") || undefined;
  const metadata = readMetadata(request.headersDistinct);
  const paths = await (mediaTypeOf(request) === "multipart/form-data" ? uploadParts : uploadWhole)(call, user, named);
  await storeMetadata(call, paths, metadata);
  const shown = Object.keys(metadata).length > 0 ? { metadata } : {};
  const written = paths.map((path) => ({ path, name: posix.basename(path), type: "file", ...shown }));
  sendJson(call.response, 200, written);
}

const mediaTypeOf = ({ headers }: IncomingMessage): string | undefined =>
  headers["content-type"]?.split(";")[0]?.trim().toLowerCase();

type Upload = (call: EnvdCall, user: ActingUser, named: string | undefined) => Promise<readonly string[]>;

const uploadWhole: Upload = async (call, user, named) => {
  const type = "application/octet-stream";
  if (mediaTypeOf(call.request) !== type) throw badRequest(`Content-Type must be multipart/form-data or ${type}`);
  if (named === undefined) throw badRequest("path is required");
  const path = absolutePath(named, user);
  await send(call, user, { method: "PUT", path: `/v1/files${pathInUrl(path)}` }, type);
  return [path];
};

/** The daemon reads the parts: one file for the path, or files whose names are paths. */
const uploadParts: Upload = async (call, user, named) => {
  const type = call.request.headers["content-type"] ?? "";
  const query = new URLSearchParams({
    base: user.home,
    ...(named !== undefined && { path: absolutePath(named, user) }),
  });
  const answer = await send(call, user, { method: "POST", path: `/v1/uploads?${query.toString()}` }, type);
  const { files } = JSON.parse((await readBody(answer, 16 * 1024 * 1024)).toString("utf8")) as {
    readonly files: readonly string[];
  };
  if (files.length === 0) throw badRequest("The request has no part named file");
  return files;
};

function send(
  { context, target, request, signal }: EnvdCall,
  user: ActingUser,
  { method, path }: { readonly method: string; readonly path: string },
  type: string,
): Promise<IncomingMessage> {
  const owner = user.isNamed && user.name !== undefined ? `user=${encodeURIComponent(user.name)}` : "";
  const separator = owner === "" ? "" : path.includes("?") ? "&" : "?";
  const { length, body } = contentOf(request);
  const headers = { "content-type": type, ...(length !== undefined && { "content-length": length }) };
  return sendRest(context.runtime, target, { method, path: path + separator + owner, headers, body, signal });
}

function contentOf(request: IncomingMessage): { readonly length?: string; readonly body: Readable } {
  const encoding = request.headers["content-encoding"] ?? "identity";
  const length = request.headers["content-length"];
  if (encoding === "identity") return { body: request, ...(length !== undefined && { length }) };
  if (encoding !== "gzip") throw new HttpError(415, `Content-Encoding ${encoding.slice(0, 32)} is not supported`);
  const plain = createGunzip();
  pipeline(request, plain).catch((error: unknown) => plain.destroy(error as Error));
  return { body: plain };
}
