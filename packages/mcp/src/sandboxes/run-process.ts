import { type Exit, isSandboxError, type Sandbox, type StartOptions } from "@agent-sandbox/sdk";
import type { Call } from "../caller.ts";
import { BoundedOutput } from "../results/bounded-output.ts";

export interface RunProcess extends Pick<StartOptions, "cwd" | "env" | "user"> {
  readonly command: string | readonly string[];
  readonly stdin?: string | undefined;
  readonly timeoutSeconds: number;
  readonly maxOutputBytes: number;
}

export interface Ran extends Exit {
  readonly stdout: BoundedOutput;
  readonly stderr: BoundedOutput;
}

/** Runs a command to its end. When the call is cancelled, the command is killed with everything it has started. */
export async function runProcess(call: Call, sandbox: Sandbox, wanted: RunProcess): Promise<Ran> {
  const { command, stdin, timeoutSeconds, maxOutputBytes, ...place } = wanted;
  const kept = { stdout: new BoundedOutput(maxOutputBytes), stderr: new BoundedOutput(maxOutputBytes) };
  const lines = new LastLine(call);
  await using process = await sandbox.commands.start(command, {
    ...place,
    timeoutMs: timeoutSeconds * 1000,
    signal: call.signal,
  });
  if (stdin !== undefined && stdin !== "") await process.write(stdin).catch(ifEnded);
  await process.closeInput().catch(ifEnded);
  for await (const { stream, bytes, text } of process.output()) {
    kept[stream].add(bytes);
    lines.add(text);
  }
  return { ...kept, ...(await process.wait({ signal: call.signal })) };
}

/** A command need not read its input, and may have ended. */
function ifEnded(error: unknown): void {
  const isEnded = isSandboxError(error) && ["Conflict", "NotFound", "Internal"].includes(error.reason);
  if (!isEnded) throw error;
}

const longestLine = 1000;

/** Reports the last line of output that is not empty. */
export class LastLine {
  readonly #call: Pick<Call, "progress">;
  #line = "";

  constructor(call: Pick<Call, "progress">) {
    this.#call = call;
  }

  add(text: string): void {
    const all = (this.#line + text.slice(-longestLine)).slice(-longestLine);
    const lines = all.split("\n");
    const last = lines.findLast((line) => line.trim() !== "");
    this.#line = lines.at(-1) ?? "";
    if (last !== undefined) this.#call.progress(last);
  }
}
