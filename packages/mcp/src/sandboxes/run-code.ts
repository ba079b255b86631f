import { isSandboxError, type Sandbox, SandboxError } from "@agent-sandbox/sdk";
import { callJson, callRest, Deadline, readJsonLines, type Target } from "@agent-sandbox/sdk/internal";
import type { Call } from "../caller.ts";
import { BoundedOutput } from "../results/bounded-output.ts";
import { LastLine } from "./run-process.ts";

export interface RunCode {
  readonly code: string;
  readonly language: "python" | "javascript";
  /** Each name has variables of its own. */
  readonly context: string;
  readonly timeoutSeconds: number;
}

/** A value by media type, always with `text/plain`. */
export type CodeValue = Readonly<Record<string, unknown>>;

export interface CodeOutcome {
  readonly stdout: BoundedOutput;
  readonly stderr: BoundedOutput;
  readonly values: readonly CodeValue[];
  /** Values beyond the limit. */
  readonly droppedValues: number;
  readonly error?: { readonly name: string; readonly value: string; readonly traceback: string };
  readonly executionCount: number;
}

interface CodeEvent {
  readonly type: string;
  readonly text?: string;
  readonly data?: CodeValue;
  readonly name?: string;
  readonly message?: string;
  readonly traceback?: string;
  readonly execution_count?: number;
}

const maxOutputBytes = 65_536;
const maxValues = 32;
const maxTextLength = 65_536;
/** sandboxd reports a timeout of the code itself. */
const graceMs = 15_000;

/** Runs code in a context that keeps its variables, which is created when it is first used. */
export async function runCode(call: Call, sandbox: Sandbox, wanted: RunCode): Promise<CodeOutcome> {
  try {
    return await execute(call, sandbox, wanted);
  } catch (error) {
    if (!isSandboxError(error, "NotFound") || error.serverReason !== "NOT_FOUND") throw error;
  }
  await createContext(call, sandbox, wanted);
  return execute(call, sandbox, wanted);
}

async function createContext(
  { caller, signal }: Call,
  sandbox: Sandbox,
  { language, context }: RunCode,
): Promise<void> {
  const doing = `Cannot start ${language}`;
  using deadline = new Deadline({ signal }, 60_000, doing);
  const json = { language, name: nameOf(language, context) };
  const request = { doing, deadline, method: "POST", path: "/contexts", json } as const;
  try {
    await callJson(caller.router, targetOf(sandbox), request);
  } catch (error) {
    // Another call has created it in the meantime.
    if (!isSandboxError(error, "Conflict")) throw error;
  }
}

async function execute(call: Call, sandbox: Sandbox, wanted: RunCode): Promise<CodeOutcome> {
  const { code, language, context, timeoutSeconds } = wanted;
  const doing = "Cannot run the code";
  using deadline = new Deadline({ signal: call.signal }, timeoutSeconds * 1000 + graceMs, doing);
  const response = await callRest(call.caller.router, targetOf(sandbox), {
    doing,
    deadline,
    method: "POST",
    path: `/contexts/${nameOf(language, context)}/execute`,
    query: { stream: true },
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code, timeout_seconds: timeoutSeconds }),
    isRepeatable: false,
  });
  return await collect(call, readJsonLines<CodeEvent>(response.body));
}

async function collect(call: Call, events: AsyncIterable<CodeEvent>): Promise<CodeOutcome> {
  const output = { stdout: new BoundedOutput(maxOutputBytes), stderr: new BoundedOutput(maxOutputBytes) };
  const lines = new LastLine(call);
  const values: CodeValue[] = [];
  let droppedValues = 0;
  let outcome: Pick<CodeOutcome, "error" | "executionCount"> = { executionCount: 0 };
  let isComplete = false;
  for await (const event of events) {
    const { type, text = "", data = {}, name = "", message = "", traceback = "" } = event;
    if (type === "stdout" || type === "stderr") {
      output[type].add(Buffer.from(text));
      lines.add(text);
    } else if (type === "result" || type === "display") {
      if (values.length < maxValues) values.push(data);
      else droppedValues++;
    } else if (type === "error") {
      const [value, trace] = [message, traceback].map((each) => each.slice(0, maxTextLength));
      outcome = { ...outcome, error: { name, value: value ?? "", traceback: trace ?? "" } };
    } else if (type === "end") {
      isComplete = true;
      outcome = { ...outcome, executionCount: event.execution_count ?? 0 };
    }
  }
  if (!isComplete) throw new SandboxError("OutcomeUnknown", "Cannot run the code: the connection was lost");
  return { ...output, values, droppedValues, ...outcome };
}

/** A name that a user chose cannot be that of another language's context. */
function nameOf(language: string, context: string): string {
  return `mcp-${language}-${context}`;
}

function targetOf({ name, namespace, uid }: Sandbox): Target {
  return { name, namespace, uid };
}
