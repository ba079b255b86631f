import { callProcess, streamProcess } from "../../runtime/process-calls.ts";
import { actingUser } from "../envd/acting-user.ts";
import type { EnvdCall } from "../envd/context.ts";
import { processEnvironment } from "../envd/process-environment.ts";
import { CodeLines, errorLine } from "./code-lines.ts";
import type { CodeRequest } from "./execute.ts";
import { LineOutput } from "./line-output.ts";

/** A script for bash. Nothing but files is kept from one to the next. */
export async function runShell(call: EnvdCall, { code, variables }: CodeRequest): Promise<void> {
  const { context, target, signal } = call;
  const user = await actingUser(call, undefined);
  const config = {
    command: ["/bin/bash", "-l", "-c", code],
    cwd: user.home,
    envVars: await processEnvironment(call, variables),
    ...(user.name !== undefined && { user: user.name }),
  };
  let lines: CodeLines | undefined;
  let output: LineOutput | undefined;
  try {
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    for await (const event of streamProcess(context.runtime, target, "Start", { config }, signal)) {
      if (lines === undefined) {
        lines = new CodeLines(call.response);
        output = new LineOutput(lines, signal);
      }
      const pid = event.init?.processId;
      if (pid !== undefined) {
        callProcess(context.runtime, target, "WriteStdin", { processId: pid, eof: {} }).catch(() => undefined);
      }
      for (const stream of ["stdout", "stderr"] as const) {
        const data = event[stream];
        if (data === undefined) continue;
        const text = decoders[stream].decode(Buffer.from(data, "base64"), { stream: true });
        await output?.write(stream, text);
      }
      const { exitCode = 0 } = event.exit ?? {};
      if (event.exit !== undefined) await output?.flush();
      if (exitCode !== 0) await lines.send(errorLine("ExitError", `exit status ${exitCode}`, ""), signal);
    }
    await lines?.send({ type: "end_of_execution" }, signal);
    lines?.end();
  } finally {
    output?.[Symbol.dispose]();
    lines?.[Symbol.dispose]();
  }
}
