import { isUtf8 } from "node:buffer";
import { type Sandbox, SandboxError } from "@agent-sandbox/sdk";
import { z } from "zod";
import { wholeEnd, wholeStart } from "../results/bounded-output.ts";
import { fileUri } from "../results/file-uri.ts";
import { useSandbox } from "../sandboxes/require-sandbox.ts";
import { inSandbox, path } from "./arguments.ts";
import { defineTool, type Tool } from "./tool.ts";

const encoding = z.enum(["text", "base64"]).default("text");

export const readFileTool: Tool = defineTool({
  name: "read_file",
  title: "Read a file",
  description: "Read a file, or a part of it. Of a file that is longer than the limit, next_offset continues.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    ...inSandbox,
    path,
    offset: z.int().min(0).default(0).describe("First byte"),
    limit: z.int().min(1).max(1_048_576).default(65_536).describe("Longest content, in bytes"),
    encoding,
  }),
  output: z.object({
    content: z.string(),
    size: z.int(),
    truncated: z.boolean(),
    encoding,
    next_offset: z.int().optional(),
  }),
  async run({ path: file, offset, limit, encoding: format, ...args }, call) {
    const sandbox = await useSandbox(call, args);
    const { signal } = call;
    const { size, type } = await sandbox.files.stat(file, { signal });
    if (type !== "file") throw new SandboxError("InvalidArgument", `Cannot read "${file}": it is a ${type}`);
    const all = await readUpTo(sandbox, file, { offset, limit: limit + 1, signal });
    const hasMore = all.length > limit;
    const bytes = format === "base64" ? all.subarray(0, limit) : wholeText(all.subarray(0, limit), offset, hasMore);
    if (format === "text" && (!isUtf8(bytes) || bytes.includes(0))) {
      throw new SandboxError("InvalidArgument", `Cannot read "${file}" as text: it is not UTF-8. Use encoding base64`);
    }
    const content = Buffer.from(bytes).toString(format === "base64" ? "base64" : "utf8");
    const isPart = hasMore || offset > 0;
    const next = hasMore ? { next_offset: offset + (bytes.byteOffset - all.byteOffset) + bytes.length } : {};
    const structured = { content, size, truncated: hasMore, encoding: format, ...next };
    const uri = fileUri(sandbox, file);
    const link = { type: "resource_link", uri, name: file, description: `The whole file, ${size} bytes` } as const;
    return { structured, text: content, ...(isPart && { more: [link] }) };
  },
});

/** Files of /proc have the size 0, so the size is not asked. */
export async function readUpTo(
  sandbox: Sandbox,
  file: string,
  { offset, limit, signal }: { readonly offset: number; readonly limit: number; readonly signal: AbortSignal },
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const range = offset === 0 ? {} : { range: { first: offset } };
  for await (const piece of sandbox.files.readStream(file, { signal, ...range })) {
    pieces.push(piece);
    size += piece.length;
    if (size >= limit) break;
  }
  return Buffer.concat(pieces).subarray(0, limit);
}

/** Without the parts of characters at both ends. */
function wholeText(bytes: Uint8Array, offset: number, hasMore: boolean): Uint8Array {
  const end = hasMore ? wholeStart(bytes) : bytes;
  return offset > 0 ? wholeEnd(end) : end;
}
