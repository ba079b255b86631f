import { z } from "zod";
import { useSandbox } from "../sandboxes/require-sandbox.ts";
import { runProcess } from "../sandboxes/run-process.ts";
import { inSandbox, path, seconds, variables } from "./arguments.ts";
import { type Answer, defineTool, type Tool } from "./tool.ts";

export const maxOutputBytes = z
  .int()
  .min(1)
  .max(1_048_576)
  .default(65_536)
  .describe("Longer output is cut in the middle");

const output = z.object({
  exit_code: z.int(),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean(),
  timed_out: z.boolean(),
  process_id: z.int().optional(),
});

export const runCommandTool: Tool = defineTool({
  name: "run_command",
  title: "Run a command",
  description:
    "Run a shell command in a sandbox and return its output and exit code. Use background for servers and for commands of more than a few minutes.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    ...inSandbox,
    command: z.string().min(1).max(131_072).describe("A script for /bin/sh"),
    cwd: path.optional(),
    env: variables,
    user: z.string().min(1).max(64).optional().describe("Name, uid or uid:gid. Default: the user of the image"),
    stdin: z.string().optional(),
    timeout_seconds: seconds(1, 3600)
      .optional()
      .describe("The command is killed after this time. Default: 120; with background: no limit"),
    background: z.boolean().default(false).describe("Return at once with a process_id for read_process"),
    max_output_bytes: maxOutputBytes,
  }),
  output,
  async run(args, call) {
    const sandbox = await useSandbox(call, args);
    const { command, background, stdin, timeout_seconds: timeout, cwd, env, user } = args;
    const place = { ...(cwd !== undefined && { cwd }), ...(env && { env }), ...(user !== undefined && { user }) };
    if (background) {
      const limit = timeout === undefined ? {} : { timeoutMs: timeout * 1000 };
      const { signal } = call;
      const process = await sandbox.commands.start(command, { ...place, ...limit, keepRunningMs: Infinity, signal });
      if (stdin !== undefined && stdin !== "") await process.write(stdin, { signal });
      await process.disconnect();
      return started(process.id);
    }
    const limits = { timeoutSeconds: timeout ?? 120, maxOutputBytes: args.max_output_bytes };
    const { stdout, stderr, exitCode, timedOut } = await runProcess(call, sandbox, {
      command,
      stdin,
      ...limits,
      ...place,
    });
    const structured = {
      exit_code: exitCode,
      stdout: stdout.text(),
      stderr: stderr.text(),
      truncated: stdout.isTruncated || stderr.isTruncated,
      timed_out: timedOut,
    };
    return { structured, text: textOf(structured, args.timeout_seconds ?? 120) };
  },
});

function started(id: number): Answer<z.output<typeof output>> {
  const structured = { exit_code: 0, stdout: "", stderr: "", truncated: false, timed_out: false, process_id: id };
  return { structured, text: `Started process ${id}. read_process reads its output, kill_process ends it.` };
}

function textOf({ exit_code, stdout, stderr, timed_out }: z.output<typeof output>, timeoutSeconds: number): string {
  const parts = [
    stdout.trimEnd(),
    ...(stderr === "" ? [] : [`[stderr]\n${stderr.trimEnd()}`]),
    ...(timed_out ? [`killed after ${timeoutSeconds} seconds`] : []),
    ...(exit_code === 0 ? [] : [`exit code ${exit_code}`]),
  ];
  return parts.filter((part) => part !== "").join("\n");
}
