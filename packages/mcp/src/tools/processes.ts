import { callUnary, Deadline, encodeBase64 } from "@agent-sandbox/sdk/internal";
import { z } from "zod";
import type { Call } from "../caller.ts";
import { handleOf } from "../sandboxes/found-sandbox.ts";
import { readOutput } from "../sandboxes/read-output.ts";
import { requireSandbox } from "../sandboxes/require-sandbox.ts";
import { inSandbox, seconds } from "./arguments.ts";
import { maxOutputBytes } from "./run-command.ts";
import { defineTool, type Tool } from "./tool.ts";

const inProcess = {
  ...inSandbox,
  process_id: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .describe("process_id of run_command"),
};
const callMs = 60_000;

export const readProcessTool: Tool = defineTool({
  name: "read_process",
  title: "Read the output of a process",
  description: "Read output of a background process. Pass next of one call as from of the next call.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    ...inProcess,
    from: z.int().min(0).default(0).describe("Offset in bytes of the output"),
    wait_seconds: seconds(0, 60).default(0).describe("How long to wait for output or the end of the process"),
    max_output_bytes: maxOutputBytes,
  }),
  output: z.object({
    output: z.string(),
    next: z.int(),
    running: z.boolean(),
    exit_code: z.int().optional(),
    lost_bytes: z.int().optional(),
  }),
  async run({ process_id: id, from, wait_seconds: wait, max_output_bytes: maxBytes, ...args }, call) {
    const target = handleOf(call.caller, await requireSandbox(call, args));
    const { text, next, exitCode, lostBytes } = await readOutput(call, target, {
      id,
      from,
      maxBytes,
      waitMs: wait * 1000,
    });
    const structured = {
      output: text,
      next,
      running: exitCode === undefined,
      ...(exitCode !== undefined && { exit_code: exitCode }),
      ...(lostBytes > 0 && { lost_bytes: lostBytes }),
    };
    const state = exitCode === undefined ? `running, next offset ${next}` : `ended with exit code ${exitCode}`;
    return { structured, text: `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}[process ${id}: ${state}]` };
  },
});

export const writeProcessTool: Tool = defineTool({
  name: "write_process",
  title: "Write to a process",
  description: "Write to the standard input of a background process.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    ...inProcess,
    input: z.string().default(""),
    close_input: z.boolean().default(false).describe("Close the standard input after that"),
  }),
  output: z.object({ bytes_written: z.int() }),
  async run({ process_id: processId, input, close_input: isLast, ...args }, call) {
    const bytes = Buffer.from(input, "utf8");
    const tell = await processCall(call, args, `Cannot write to process ${processId}`);
    if (bytes.length > 0) await tell("WriteStdin", { processId, input: encodeBase64(bytes) });
    if (isLast) await tell("WriteStdin", { processId, eof: {} });
    return { structured: { bytes_written: bytes.length }, text: `Wrote ${bytes.length} bytes` };
  },
});

const signals = ["TERM", "KILL", "INT", "HUP", "QUIT", "USR1", "USR2", "STOP", "CONT"] as const;

export const killProcessTool: Tool = defineTool({
  name: "kill_process",
  title: "Signal a process",
  description: "Send a signal to a background process and everything it has started.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ ...inProcess, signal: z.enum(signals).default("TERM") }),
  output: z.object({ signalled: z.boolean() }),
  async run({ process_id: processId, signal, ...args }, call) {
    const tell = await processCall(call, args, `Cannot signal process ${processId}`);
    await tell("SendSignal", { processId, signal: `SIGNAL_SIG${signal}`, scope: "SIGNAL_SCOPE_TREE" });
    return { structured: { signalled: true }, text: `Sent SIG${signal} to process ${processId}` };
  },
});

type Tell = (method: string, message: object) => Promise<unknown>;

async function processCall(call: Call, args: Parameters<typeof requireSandbox>[1], doing: string): Promise<Tell> {
  const found = await requireSandbox(call, args);
  const { name, namespace, uid } = handleOf(call.caller, found);
  return async (method, message) => {
    using deadline = new Deadline({ signal: call.signal }, callMs, doing);
    const target = { name, namespace, uid };
    return await callUnary(call.caller.router, target, { doing, deadline, method, message, isRepeatable: false });
  };
}
