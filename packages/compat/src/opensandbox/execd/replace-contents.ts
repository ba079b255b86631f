import { textField } from "../../http/fields.ts";
import { readBody, readJsonObject } from "../../http/read-body.ts";
import { sendJson } from "../../http/reply.ts";
import { pathInUrl, RuntimeError, sendRest } from "../../runtime/rest.ts";
import { OpenSandboxError } from "../failure.ts";
import type { ExecdCall } from "./context.ts";
import { invalidRequest } from "./execd-error.ts";
import { filesOf, objectOf } from "./files-read.ts";
import { pathsOf } from "./paths.ts";

const maxBytes = 4 * 1024 * 1024;
const maxFileBytes = 16 * 1024 * 1024;
/** A short text that is replaced by a long one many times. */
const maxResultBytes = 64 * 1024 * 1024;
/** Another process may write the file between the read and the write. */
const attempts = 5;

interface Replacement {
  readonly path: string;
  readonly from: Buffer;
  readonly to: Buffer;
}

/** `POST /files/replace`: every occurrence of one text in a file by another one. Owner and mode stay. */
export async function replaceContents(call: ExecdCall): Promise<void> {
  const body = await readJsonObject(call.request, maxBytes);
  const paths = await pathsOf(call);
  const wanted = Object.entries(body).map(([path, value]): readonly [string, Replacement] => {
    const { old, new: text } = objectOf(path, value);
    const [from, to] = [textField({ old }, "old") ?? "", textField({ new: text }, "new") ?? ""];
    if (from === "") throw invalidRequest("old cannot be empty");
    return [path, { path: paths.resolve(path), from: Buffer.from(from), to: Buffer.from(to) }];
  });
  const counts: [string, { replacedCount: number }][] = [];
  for (const [path, replacement] of wanted) {
    counts.push([path, { replacedCount: await replaceIn(call, replacement) }]);
  }
  sendJson(call.response, 200, Object.fromEntries(counts));
}

async function replaceIn(call: ExecdCall, { path, from, to }: Replacement): Promise<number> {
  const { context, target, signal } = call;
  const url = `/v1/files${pathInUrl(path)}`;
  for (let attempt = 1; ; attempt++) {
    const { type, size, uid, gid, etag = "" } = await filesOf(call).stat(path, { follow: true });
    if (type !== "file") throw new OpenSandboxError(400, "INVALID_FILE", `${path} is not a file`);
    if (size > maxFileBytes) throw tooLarge(path, maxFileBytes);
    const answer = await sendRest(context.runtime, target, { method: "GET", path: url, signal });
    const { content, count } = replaced(await readBody(answer, maxFileBytes), from, to, path);
    if (count === 0) return 0;
    try {
      const write = { method: "PUT", path: `${url}?user=${uid}:${gid}`, headers: { "if-match": etag }, body: content };
      (await sendRest(context.runtime, target, { ...write, signal })).resume();
      return count;
    } catch (error) {
      const hasChanged = error instanceof RuntimeError && error.code === "FAILED_PRECONDITION";
      if (!hasChanged || attempt === attempts) throw error;
    }
  }
}

function replaced(content: Buffer, from: Buffer, to: Buffer, path: string): { content: Buffer; count: number } {
  const starts: number[] = [];
  for (let at = content.indexOf(from); at >= 0; at = content.indexOf(from, at + from.length)) starts.push(at);
  const length = content.length + starts.length * (to.length - from.length);
  if (length > maxResultBytes) throw tooLarge(path, maxResultBytes);
  const pieces = starts.flatMap((start, index) => {
    const previous = starts[index - 1];
    return [content.subarray(previous === undefined ? 0 : previous + from.length, start), to];
  });
  const last = starts.at(-1);
  return {
    content: Buffer.concat([...pieces, content.subarray(last === undefined ? 0 : last + from.length)]),
    count: starts.length,
  };
}

const tooLarge = (path: string, bytes: number): OpenSandboxError =>
  new OpenSandboxError(400, "INVALID_FILE", `${path} has, or would have, more than ${bytes} bytes`);
