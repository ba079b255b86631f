import { isUtf8 } from "node:buffer";
import { isSandboxError, SandboxError } from "@agent-sandbox/sdk";
import { z } from "zod";
import { useSandbox } from "../sandboxes/require-sandbox.ts";
import { inSandbox, path } from "./arguments.ts";
import { readUpTo } from "./read-file.ts";
import { defineTool, type Tool } from "./tool.ts";

const mode = z.string().regex(/^0[0-7]{3}$/, "must be an octal mode such as 0644");

export const writeFileTool: Tool = defineTool({
  name: "write_file",
  title: "Write a file",
  description: "Create or replace a file, or append to it. Missing directories are created.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    ...inSandbox,
    path,
    content: z.string(),
    encoding: z.enum(["text", "base64"]).default("text"),
    mode: mode.optional(),
    append: z.boolean().default(false),
  }),
  output: z.object({ bytes_written: z.int() }),
  async run({ path: file, content, encoding, mode: wantedMode, append, ...args }, call) {
    const bytes = encoding === "text" ? Buffer.from(content, "utf8") : decodeStrictly(content);
    const sandbox = await useSandbox(call, args);
    const { signal } = call;
    if (append) await sandbox.files.append(file, bytes, { signal });
    else await sandbox.files.write(file, bytes, { signal, ...(wantedMode !== undefined && { mode: wantedMode }) });
    if (append && wantedMode !== undefined) await sandbox.files.chmod(file, wantedMode, { signal });
    return { structured: { bytes_written: bytes.length }, text: `Wrote ${bytes.length} bytes to ${file}` };
  },
});

function decodeStrictly(content: string): Buffer {
  const text = content.replaceAll(/\s/g, "");
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "")) return bytes;
  throw new SandboxError("InvalidArgument", "Cannot write the file: content is not valid base64");
}

const maxEditBytes = 4_194_304;

export const editFileTool: Tool = defineTool({
  name: "edit_file",
  title: "Edit a file",
  description: "Replace a text in a file by another one. The text must occur once, unless replace_all is set.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    ...inSandbox,
    path,
    old: z.string().min(1).describe("The exact text, with its white space"),
    new: z.string(),
    replace_all: z.boolean().default(false),
  }),
  output: z.object({ replaced: z.int() }),
  async run({ path: file, old, new: replacement, replace_all: all, ...args }, call) {
    const sandbox = await useSandbox(call, args);
    const { signal } = call;
    const refuse = (why: string): SandboxError => new SandboxError("InvalidArgument", `Cannot edit "${file}": ${why}`);
    const { etag } = await sandbox.files.stat(file, { signal });
    const bytes = await readUpTo(sandbox, file, { offset: 0, limit: maxEditBytes + 1, signal });
    if (bytes.length > maxEditBytes) throw refuse("it is larger than 4 MiB");
    if (!isUtf8(bytes)) throw refuse("it is not UTF-8 text");
    const text = bytes.toString("utf8");
    const found = countOf(text, old);
    if (found === 0) throw refuse("the old text does not occur in it; read it again");
    if (found > 1 && !all) throw refuse(`the old text occurs ${found} times; add context or set replace_all`);
    if (text.length + found * (replacement.length - old.length) > maxEditBytes) {
      throw refuse("it would become larger than 4 MiB");
    }
    try {
      // A function, because a text with dollar signs would have a meaning.
      const edited = text.replaceAll(old, () => replacement);
      await sandbox.files.write(file, edited, { ifMatch: etag, signal });
    } catch (error) {
      if (isSandboxError(error, "Conflict")) throw refuse("it was changed in the meantime; read it again");
      throw error;
    }
    return {
      structured: { replaced: found },
      text: `Replaced ${found} occurrence${found === 1 ? "" : "s"} in ${file}`,
    };
  },
});

/** An array of the parts would need many times the memory of a text with many occurrences. */
function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

export const deleteFileTool: Tool = defineTool({
  name: "delete_file",
  title: "Delete a file",
  description: "Delete a file, or a directory with everything in it if recursive is set.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ ...inSandbox, path, recursive: z.boolean().default(false) }),
  output: z.object({ deleted: z.boolean() }),
  async run({ path: file, recursive, ...args }, call) {
    const sandbox = await useSandbox(call, args);
    try {
      await sandbox.files.remove(file, { recursive, signal: call.signal });
    } catch (error) {
      if (!isSandboxError(error, "NotFound") || error.serverReason !== "NOT_FOUND") throw error;
      return { structured: { deleted: false }, text: `${file} does not exist` };
    }
    return { structured: { deleted: true }, text: `Deleted ${file}` };
  },
});

export const moveFileTool: Tool = defineTool({
  name: "move_file",
  title: "Move a file",
  description: "Move or rename a file or directory.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ ...inSandbox, from: path, to: path, replace: z.boolean().default(false) }),
  output: z.object({ path }),
  async run({ from, to, replace, ...args }, call) {
    await (await useSandbox(call, args)).files.move(from, to, { replace, signal: call.signal });
    return { structured: { path: to }, text: `Moved ${from} to ${to}` };
  },
});

export const makeDirectoryTool: Tool = defineTool({
  name: "make_directory",
  title: "Create a directory",
  description: "Create a directory and its missing parents.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ ...inSandbox, path }),
  output: z.object({ path }),
  async run({ path: folder, ...args }, call) {
    await (await useSandbox(call, args)).files.makeDir(folder, { signal: call.signal });
    return { structured: { path: folder }, text: `Created ${folder}` };
  },
});
