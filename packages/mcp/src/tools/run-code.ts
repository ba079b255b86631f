import type { Sandbox } from "@agent-sandbox/sdk";
import { z } from "zod";
import type { Call } from "../caller.ts";
import { saveImages } from "../results/large-images.ts";
import { type Media, mediaOf } from "../results/media.ts";
import { useSandbox } from "../sandboxes/require-sandbox.ts";
import { type CodeOutcome, runCode } from "../sandboxes/run-code.ts";
import { runProcess } from "../sandboxes/run-process.ts";
import { inSandbox, seconds } from "./arguments.ts";
import { type Answer, defineTool, type Tool } from "./tool.ts";

const output = z.object({
  stdout: z.string(),
  stderr: z.string(),
  result: z.string().optional(),
  error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).optional(),
  execution_count: z.int(),
  images: z.int(),
  truncated: z.boolean(),
});
type Output = z.output<typeof output>;

const maxShellBytes = 65_536;
const maxResultLength = 65_536;

export const runCodeTool: Tool = defineTool({
  name: "run_code",
  title: "Run code",
  description:
    "Run Python, JavaScript or bash in a sandbox. Python and JavaScript keep their variables between calls. Returns output, the value of the last expression, and images such as matplotlib figures.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    ...inSandbox,
    code: z.string().max(1_048_576),
    language: z.enum(["python", "javascript", "bash"]).default("python"),
    context: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,32}$/, "must be 1 to 32 letters, digits, hyphens and underscores")
      .default("default")
      .describe("Each context has its own variables"),
    timeout_seconds: seconds(1, 3600).default(120),
  }),
  output,
  async run({ code, language, context, timeout_seconds: timeoutSeconds, ...args }, call) {
    const sandbox = await useSandbox(call, args);
    if (language === "bash") return runBash(call, sandbox, { code, timeoutSeconds });
    const outcome = await runCode(call, sandbox, { code, language, context, timeoutSeconds });
    const media = mediaOf(outcome.values);
    const saved = await saveImages(sandbox, media.large, call.signal);
    const [blocks, notes] = [
      [...media.blocks, ...saved.links],
      [...saved.notes, ...media.notes],
    ];
    return answerOf(outcome, { ...media, blocks, notes });
  },
});

function answerOf(
  { stdout, stderr, values, droppedValues, error, executionCount }: CodeOutcome,
  { blocks, images, notes }: Media,
): Answer<Output> {
  const last = values.at(-1)?.["text/plain"];
  const full = typeof last === "string" ? last : undefined;
  const structured = {
    stdout: stdout.text(),
    stderr: stderr.text(),
    ...(full !== undefined && { result: full.slice(0, maxResultLength) }),
    ...(error !== undefined && { error }),
    execution_count: executionCount,
    images,
    truncated: stdout.isTruncated || stderr.isTruncated || droppedValues > 0 || (full?.length ?? 0) > maxResultLength,
  };
  const more = droppedValues > 0 ? [`${droppedValues} more values are not shown`] : [];
  return { structured, text: textOf(structured, [...notes, ...more]), more: blocks };
}

/** A script has no variables to keep. */
async function runBash(
  call: Call,
  sandbox: Sandbox,
  { code, timeoutSeconds }: { readonly code: string; readonly timeoutSeconds: number },
): Promise<Answer<Output>> {
  const command = ["bash", "-c", code];
  const { stdout, stderr, exitCode, timedOut } = await runProcess(call, sandbox, {
    command,
    timeoutSeconds,
    maxOutputBytes: maxShellBytes,
  });
  const name = timedOut ? "TimeoutError" : "ExitCode";
  const value = timedOut ? `killed after ${timeoutSeconds} seconds` : String(exitCode);
  const structured = {
    stdout: stdout.text(),
    stderr: stderr.text(),
    ...((exitCode !== 0 || timedOut) && { error: { name, value, traceback: "" } }),
    execution_count: 0,
    images: 0,
    truncated: stdout.isTruncated || stderr.isTruncated,
  };
  return { structured, text: textOf(structured, []) };
}

function textOf({ stdout, stderr, result, error }: Output, notes: readonly string[]): string {
  const parts = [
    stdout.trimEnd(),
    ...(stderr === "" ? [] : [`[stderr]\n${stderr.trimEnd()}`]),
    ...(result === undefined ? [] : [result]),
    ...(error === undefined ? [] : [error.traceback || `${error.name}: ${error.value}`]),
    ...notes.map((note) => `[${note}]`),
  ];
  return parts.filter((part) => part !== "").join("\n");
}
