import type { CallOptions } from "../deadline.ts";
import { SandboxError } from "../errors.ts";
import { discard } from "../http/exchange.ts";
import { readJsonLines } from "../http/lines.ts";
import { operate } from "../telemetry/operation.ts";
import { callJson, callRest, keepAliveSeconds } from "./rest.ts";
import type { Router, Target } from "./router.ts";

export type Language = "python" | "javascript";

export interface ContextOptions extends CallOptions {
  /** Default `python`. The image must have the interpreter. */
  readonly language?: Language;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
}

export interface RunCodeOptions extends CallOptions {
  /** Called with each piece of output as soon as it arrives. */
  readonly onStdout?: (text: string) => void;
  readonly onStderr?: (text: string) => void;
  readonly onResult?: (result: CodeValue) => void;
}

/** A value by media type, always with `text/plain`. */
export type CodeValue = Readonly<Record<string, unknown>>;

export interface CodeError {
  readonly name: string;
  readonly message: string;
  readonly traceback: string;
}

export interface CodeResult {
  readonly stdout: string;
  readonly stderr: string;
  /** The value of the last expression, and what the code displayed. */
  readonly results: readonly CodeValue[];
  /** An exception of the code. It is a result, not an error of the call. */
  readonly error?: CodeError;
  /** The text of the last result. */
  readonly text?: string;
}

const defaultTimeoutMs = 60_000;
const graceMs = 15_000;

/**
 * An interpreter that keeps its variables between calls. Disposing it ends it.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host" });
 * await using context = await sandbox.createContext({ language: "python", env: { STAGE: "test" } });
 * await context.run("import os; stage = os.environ['STAGE']");
 * const { text } = await context.run("stage * 2");
 * const { error } = await context.run("1 / 0");
 * console.log(text, error?.name);
 * // Output: 'testtest' ZeroDivisionError
 * ```
 */
export class CodeContext implements AsyncDisposable {
  readonly id: string;
  readonly language: Language;
  readonly #router: Router;
  readonly #target: Target;

  private constructor(
    id: string,
    language: Language,
    connection: { readonly router: Router; readonly target: Target },
  ) {
    this.id = id;
    this.language = language;
    this.#router = connection.router;
    this.#target = connection.target;
  }

  static create(
    connection: { readonly router: Router; readonly target: Target },
    options: ContextOptions = {},
  ): Promise<CodeContext> {
    const { language = "python", cwd, env, user } = options;
    const { router, target } = connection;
    const doing = `Cannot start ${language}`;
    const operation = { name: "code.createContext", sandbox: target, doing, options, defaultMs: defaultTimeoutMs };
    return operate(router.tracing, operation, async (deadline) => {
      const json = { language, cwd, env, user };
      const call = { doing, deadline, method: "POST", path: "/contexts", json } as const;
      const { id } = await callJson<{ id: string }>(router, target, call);
      return new CodeContext(id, language, connection);
    });
  }

  /** Runs code. When the call is cancelled or takes longer than `timeoutMs` (default: one minute), the code is interrupted. */
  run(code: string, options: RunCodeOptions = {}): Promise<CodeResult> {
    const { timeoutMs = defaultTimeoutMs, signal } = options;
    const doing = "Cannot run the code";
    const call = {
      doing,
      method: "POST",
      path: `/contexts/${encodeURIComponent(this.id)}/execute`,
      query: { stream: true, keepalive: keepAliveSeconds },
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code, timeout_seconds: timeoutMs / 1000 }),
      isRepeatable: false,
    } as const;
    const limits = { options: { timeoutMs: timeoutMs + graceMs, signal }, defaultMs: 0 };
    return operate(
      this.#router.tracing,
      { name: "code.run", sandbox: this.#target, doing, ...limits },
      async (deadline) => {
        const response = await callRest(this.#router, this.#target, { ...call, deadline });
        return collect(readJsonLines<CodeEvent>(response.body), options);
      },
    );
  }

  /** Ends the interpreter and everything it started. */
  close(options: CallOptions = {}): Promise<void> {
    const doing = `Cannot end context "${this.id}"`;
    const path = `/contexts/${encodeURIComponent(this.id)}`;
    const operation = { name: "code.close", sandbox: this.#target, doing, options, defaultMs: defaultTimeoutMs };
    return operate(this.#router.tracing, operation, async (deadline) =>
      discard(await callRest(this.#router, this.#target, { doing, deadline, method: "DELETE", path })),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

interface CodeEvent {
  readonly type: string;
  readonly text?: string;
  readonly data?: CodeValue;
  readonly name?: string;
  readonly message?: string;
  readonly traceback?: string;
}

/** The interpreter has ended, and the result is what it left. Older servers send nothing after this. */
function isEndOfContext(type: string, name: string): boolean {
  return type === "error" && name === "ContextEnded";
}

async function collect(
  events: AsyncIterable<CodeEvent>,
  { onStdout, onStderr, onResult }: RunCodeOptions,
): Promise<CodeResult> {
  const found: { stdout: string; stderr: string; results: CodeValue[]; error?: CodeError } = {
    stdout: "",
    stderr: "",
    results: [],
  };
  let isComplete = false;
  for await (const { type, text = "", data = {}, name = "", message = "", traceback = "" } of events) {
    if (type === "stdout") onStdout?.(text);
    if (type === "stderr") onStderr?.(text);
    if (type === "stdout" || type === "stderr") found[type] += text;
    if (type === "result" || type === "display") {
      onResult?.(data);
      found.results.push(data);
    }
    if (type === "error") found.error = { name, message, traceback };
    if (type === "end" || isEndOfContext(type, name)) isComplete = true;
  }
  if (!isComplete) throw new SandboxError("OutcomeUnknown", "Cannot run the code: the connection was lost");
  const text = found.results.at(-1)?.["text/plain"];
  return typeof text === "string" ? { ...found, text } : found;
}
