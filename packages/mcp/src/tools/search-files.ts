import { SandboxError } from "@agent-sandbox/sdk";
import { z } from "zod";
import { grep } from "../sandboxes/grep.ts";
import { useSandbox } from "../sandboxes/require-sandbox.ts";
import { inSandbox, path } from "./arguments.ts";
import { longestPaths } from "./list-files.ts";
import { defineTool, type Tool } from "./tool.ts";

const match = z.object({ path: z.string(), line: z.int().optional(), text: z.string().optional() });
type Match = z.output<typeof match>;

/** A tree that is deeper is probably not what somebody searches. */
const maxDepth = 64;

export const searchFilesTool: Tool = defineTool({
  name: "search_files",
  title: "Search files",
  description:
    "Find files by a pattern for their names, or lines of text files by a text or regular expression, below a directory.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    ...inSandbox,
    path: path.default("/"),
    pattern: z.string().min(1).max(256).optional().describe("For names of files, such as *.py"),
    text: z
      .string()
      .min(1)
      .max(4096)
      .refine((value) => !/[\n\0]/.test(value), "must be one line")
      .optional()
      .describe("What to find in the files"),
    regex: z.boolean().default(false).describe("Whether text is an extended regular expression"),
    ignore_case: z.boolean().default(false),
    limit: z.int().min(1).max(1000).default(100),
    timeout_seconds: z.number().min(1).max(600).default(60),
  }),
  output: z.object({ matches: z.array(match), truncated: z.boolean() }),
  async run(
    { path: folder, pattern, text, regex, ignore_case: ignoreCase, limit, timeout_seconds: seconds, ...args },
    call,
  ) {
    if (pattern === undefined && text === undefined) {
      throw new SandboxError("InvalidArgument", "Cannot search: name a pattern, a text or both");
    }
    const sandbox = await useSandbox(call, args);
    const found: Match[] = [];
    let truncated = false;
    let length = 0;
    const { signal } = call;
    const matches =
      text === undefined
        ? sandbox.files.tree(folder, { depth: maxDepth, signal, ...(pattern !== undefined && { match: pattern }) })
        : grep(call, sandbox, { folder, pattern, text, regex, ignoreCase, timeoutSeconds: seconds });
    for await (const one of matches) {
      const { path: file, line, text: content } = one as Match;
      length += file.length + (content?.length ?? 0);
      truncated = found.length === limit || length > longestPaths;
      if (truncated) break;
      found.push({ path: file, ...(line !== undefined && { line }), ...(content !== undefined && { text: content }) });
    }
    const lines = found.map((one) =>
      one.line === undefined ? one.path : `${one.path}:${one.line}: ${one.text ?? ""}`,
    );
    const more = truncated ? [`[more than ${found.length} matches]`] : [];
    return { structured: { matches: found, truncated }, text: [...lines, ...more].join("\n") || "No matches" };
  },
});
