import type { IncomingMessage } from "node:http";
import { readJsonLines } from "./json-lines.ts";
import { sendRest } from "./rest.ts";
import { keepAliveSeconds, type Runtime, type Target } from "./runtime.ts";
import { withShellLines } from "./shell-lines.ts";

/** An event of running code, as sandboxd sends it. The last one is `end`. */
export interface CodeEvent {
  readonly type: "stdout" | "stderr" | "result" | "display" | "error" | "end" | "keepalive";
  readonly text?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly message?: string;
  readonly traceback?: string;
  readonly execution_count?: number;
}

export interface CodeRun {
  /** The id or name of the context. */
  readonly context: string;
  readonly language: string;
  readonly code: string;
  /** Variables of the environment during the run. */
  readonly variables: Readonly<Record<string, string>>;
}

const maxLineBytes = 96 * 1024 * 1024;
/** The longest time that sandboxd accepts. The clients have their own limits, and end the request. */
const longestSeconds = 86_400;

/** Runs code in a context. Resolves when it is accepted. The code is interrupted when the signal aborts. */
export async function runCode(
  runtime: Runtime,
  target: Target,
  { context, language, code, variables }: CodeRun,
  signal: AbortSignal,
): Promise<AsyncIterable<CodeEvent>> {
  const text = language === "python" ? withShellLines(code) : code;
  const answer = await sendRest(runtime, target, {
    method: "POST",
    path: `/v1/contexts/${encodeURIComponent(context)}/execute?stream=true&keepalive=${keepAliveSeconds}`,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: text, timeout_seconds: longestSeconds, env: variables }),
    signal,
  });
  return eventsIn(answer);
}

async function* eventsIn(answer: IncomingMessage): AsyncGenerator<CodeEvent> {
  for await (const event of readJsonLines<CodeEvent>(answer, maxLineBytes)) {
    if (event.type !== "keepalive") yield event;
  }
}
