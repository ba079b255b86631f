import { Readable } from "node:stream";
import { textField } from "../../http/fields.ts";
import { type JsonObject, parseJsonObject } from "../../http/read-body.ts";
import { sendEmpty } from "../../http/reply.ts";
import { pathInUrl, sendRest } from "../../runtime/rest.ts";
import { OpenSandboxError } from "../failure.ts";
import type { ExecdCall } from "./context.ts";
import { invalidRequest } from "./execd-error.ts";
import { boundaryOf, type Part, readParts } from "./multipart.ts";
import { changeOwner, type Permission, readPermission } from "./ownership.ts";
import { type Paths, pathsOf } from "./paths.ts";

const maxMetadataBytes = 16 * 1024;
/** How many files may be described before the first one is sent. */
const maxDescribed = 1000;

interface Description extends Permission {
  readonly path: string;
}

/** `POST /files/upload`: parts `metadata` and `file` by turns. Each file is replaced as a whole while it arrives. */
export async function upload(call: ExecdCall): Promise<void> {
  const boundary = boundaryOf(call.request.headers["content-type"]);
  if (boundary === undefined) throw invalidRequest("Content-Type must be multipart/form-data with a boundary");
  const paths = await pathsOf(call);
  const described: Description[] = [];
  for await (const part of readParts(call.request, boundary)) {
    if (part.name === "metadata") {
      if (described.length >= maxDescribed)
        throw invalidRequest(`At most ${maxDescribed} files can be described ahead`);
      described.push(describe(await readMetadata(part), paths));
    } else if (part.name === "file") {
      const wanted = described.shift();
      if (wanted === undefined) throw invalidMetadata("Each file needs a part metadata in front of it");
      await write(call, wanted, part.content);
    }
  }
  if (described.length > 0) throw invalidMetadata("There is a part metadata without a file");
  sendEmpty(call.response, 200);
}

const invalidMetadata = (message: string): OpenSandboxError =>
  new OpenSandboxError(400, "INVALID_FILE_METADATA", message);

async function readMetadata({ content }: Part): Promise<JsonObject> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of content) {
    length += piece.length;
    if (length > maxMetadataBytes) throw invalidMetadata(`A part metadata can have ${maxMetadataBytes} bytes`);
    pieces.push(piece);
  }
  return parseJsonObject(Buffer.concat(pieces));
}

function describe(metadata: JsonObject, paths: Paths): Description {
  const path = textField(metadata, "path") ?? "";
  if (path === "") throw invalidMetadata("path is required");
  return { path: paths.resolve(path), ...readPermission(metadata) };
}

async function write(call: ExecdCall, wanted: Description, content: AsyncIterable<Buffer>): Promise<void> {
  const { context, target, signal } = call;
  const { path, mode, owner } = wanted;
  const query = mode === undefined ? "" : `?mode=${mode}`;
  const body = Readable.from(content, { objectMode: false });
  const request = { method: "PUT", path: `/v1/files${pathInUrl(path)}${query}`, body, signal };
  (await sendRest(context.runtime, target, request)).resume();
  if (owner !== undefined) await changeOwner(call, path, owner);
}
