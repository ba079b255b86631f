import { setTimeout as sleep } from "node:timers/promises";
import { isSandboxError, type Sandbox, SandboxError } from "@agent-sandbox/sdk";
import { callJson, callRest, Deadline, keepAliveSeconds, type Target } from "@agent-sandbox/sdk/internal";
import type { Call } from "../caller.ts";
import { BoundedOutput } from "../results/bounded-output.ts";
import { type CodeEvent, type CodeValue, readCodeEvents } from "./code-events.ts";
import { KeptValues } from "./kept-values.ts";
import { LastLine } from "./run-process.ts";

export interface RunCode {
  readonly code: string;
  readonly language: "python" | "javascript";
  /** Each name has variables of its own. */
  readonly context: string;
  readonly timeoutSeconds: number;
}

export interface CodeOutcome {
  readonly stdout: BoundedOutput;
  readonly stderr: BoundedOutput;
  readonly values: readonly CodeValue[];
  /** Values beyond the limits of number and size. */
  readonly droppedValues: number;
  readonly error?: { readonly name: string; readonly value: string; readonly traceback: string };
  readonly executionCount: number;
}

const maxOutputBytes = 65_536;
const maxTextLength = 65_536;
/** The longest time that an interpreter may take to start. */
const startMs = 60_000;
const betweenLooksMs = 50;
/** sandboxd reports a timeout of the code itself. */
const graceMs = 15_000;

/** Runs code in a context that keeps its variables, which is created when it is first used. */
export async function runCode(call: Call, sandbox: Sandbox, wanted: RunCode): Promise<CodeOutcome> {
  using deadline = new Deadline({ signal: call.signal }, startMs, `Cannot start ${wanted.language}`);
  for (;;) {
    try {
      return await execute(call, sandbox, wanted);
    } catch (error) {
      const isMissing = isSandboxError(error, "NotFound") && error.serverReason === "NOT_FOUND";
      if (!isMissing || deadline.signal.aborted) throw error;
    }
    if (await createContext(call, sandbox, { ...wanted, deadline })) continue;
    // Another call is creating it. It cannot be used before that is done.
    await sleep(betweenLooksMs, undefined, { signal: call.signal });
  }
}

/** False if there is one of this name, or another call is creating it. */
async function createContext(
  { caller }: Call,
  sandbox: Sandbox,
  { language, context, deadline }: RunCode & { readonly deadline: Deadline },
): Promise<boolean> {
  const json = { language, name: nameOf(language, context) };
  const request = { doing: `Cannot start ${language}`, deadline, method: "POST", path: "/contexts", json } as const;
  try {
    await callJson(caller.router, targetOf(sandbox), request);
    return true;
  } catch (error) {
    if (isSandboxError(error, "Conflict")) return false;
    throw error;
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
    query: { stream: true, keepalive: keepAliveSeconds },
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code, timeout_seconds: timeoutSeconds }),
    isRepeatable: false,
  });
  return await collect(call, readCodeEvents(response.body));
}

async function collect(call: Call, events: AsyncIterable<CodeEvent | undefined>): Promise<CodeOutcome> {
  const output = { stdout: new BoundedOutput(maxOutputBytes), stderr: new BoundedOutput(maxOutputBytes) };
  const lines = new LastLine(call);
  const values = new KeptValues();
  let outcome: Pick<CodeOutcome, "error" | "executionCount"> = { executionCount: 0 };
  let isComplete = false;
  for await (const event of events) {
    if (event === undefined) {
      values.drop();
      continue;
    }
    const { type, text = "", data = {}, name = "", message = "", traceback = "" } = event;
    if (type === "stdout" || type === "stderr") {
      output[type].add(Buffer.from(text));
      lines.add(text);
    } else if (type === "result" || type === "display") {
      values.add(data);
    } else if (type === "error") {
      const cut = (text: string): string => text.slice(0, maxTextLength);
      outcome = { ...outcome, error: { name: cut(name), value: cut(message), traceback: cut(traceback) } };
      // The interpreter has ended, and the result is what it left. Older servers send nothing after this.
      if (name === "ContextEnded") isComplete = true;
    } else if (type === "end") {
      isComplete = true;
      outcome = { ...outcome, executionCount: event.execution_count ?? 0 };
    }
  }
  if (!isComplete) throw new SandboxError("OutcomeUnknown", "Cannot run the code: the connection was lost");
  return { ...output, values: values.kept, droppedValues: values.dropped, ...outcome };
}

/** A name that a user chose cannot be that of another language's context. */
function nameOf(language: string, context: string): string {
  return `mcp-${language}-${context}`;
}

function targetOf({ name, namespace, uid }: Sandbox): Target {
  return { name, namespace, uid };
}
