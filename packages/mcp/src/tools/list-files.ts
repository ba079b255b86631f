import type { FileEntry } from "@agent-sandbox/sdk";
import { z } from "zod";
import { useSandbox } from "../sandboxes/require-sandbox.ts";
import { inSandbox, path } from "./arguments.ts";
import { defineTool, type Tool } from "./tool.ts";

const maxPattern = 256;
/** Of all paths of an answer, in characters. */
export const longestPaths = 1_048_576;

export const fileEntry = z.object({ path: z.string(), type: z.string(), size: z.int(), modified_at: z.string() });

export const entryOf = ({
  path: file,
  type,
  size,
  modifiedAt,
}: FileEntry & { path: string }): z.output<typeof fileEntry> => ({
  path: file,
  type,
  size,
  modified_at: modifiedAt.toISOString(),
});

export const listFilesTool: Tool = defineTool({
  name: "list_files",
  title: "List files",
  description: "List a directory, and directories in it down to a depth.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    ...inSandbox,
    path: path.default("/"),
    depth: z.int().min(1).max(10).default(1),
    pattern: z.string().min(1).max(maxPattern).optional().describe("For names, such as *.py"),
    limit: z.int().min(1).max(10_000).default(1000),
  }),
  output: z.object({ entries: z.array(fileEntry), truncated: z.boolean() }),
  async run({ path: folder, depth, pattern, limit, ...args }, call) {
    const sandbox = await useSandbox(call, args);
    const options = { depth, signal: call.signal, ...(pattern !== undefined && { match: pattern }) };
    const entries: z.output<typeof fileEntry>[] = [];
    let truncated = false;
    let length = 0;
    for await (const entry of sandbox.files.tree(folder, options)) {
      length += entry.path.length;
      truncated = entries.length === limit || length > longestPaths;
      if (truncated) break;
      entries.push(entryOf(entry));
    }
    const lines = entries.map((entry) => `${entry.path}${entry.type === "directory" ? "/" : ""}`);
    const more = truncated ? [`[more than ${entries.length} entries]`] : [];
    return { structured: { entries, truncated }, text: [...lines, ...more].join("\n") || "No files" };
  },
});
