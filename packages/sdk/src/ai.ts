import { type JSONSchema7, jsonSchema, type Schema, type Tool, tool } from "ai";
import { isSandboxError } from "./errors.ts";
import type { Language } from "./runtime/code.ts";
import type { FileType } from "./runtime/file-entry.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";

export interface SandboxToolsOptions {
  /** Each text of a result is cut after this many characters. Default: 16,000. */
  readonly maxOutputLength?: number;
  /** The longest time that a command or code may run, whatever the model asks for. Default: 120. */
  readonly maxTimeoutSeconds?: number;
}

/** What a tool returns. An error of the sandbox is a result too, so that the model can react to it. */
export type ToolResult<T> = (T & Cut) | { readonly error: { readonly reason: string; readonly message: string } };

interface Cut {
  /** Whether something was left out. */
  readonly truncated: boolean;
}

type Command = { command: string; cwd?: string; timeoutSeconds?: number };
type CommandOutput = { exitCode: number; stdout: string; stderr: string; timedOut: boolean };
type Code = { code: string; language?: Language; timeoutSeconds?: number };
/** `value` is that of the last expression, `exception` a traceback. */
type CodeOutput = { stdout: string; stderr: string; value?: string; exception?: string };
type Written = { path: string; content: string };
type FileList = { entries: { name: string; type: FileType; size: number }[] };

export type SandboxTools = {
  readonly runCommand: Tool<Command, ToolResult<CommandOutput>>;
  readonly runCode: Tool<Code, ToolResult<CodeOutput>>;
  readonly readFile: Tool<{ path: string }, ToolResult<{ content: string }>>;
  readonly writeFile: Tool<Written, ToolResult<{ written: string }>>;
  readonly listFiles: Tool<{ path?: string }, ToolResult<FileList>>;
};

/** Longer lists are cut. */
const maxEntries = 500;

/**
 * Tools for the Vercel AI SDK (the package `ai`) that use one sandbox. Input of the model that does not fit the schema is refused
 * before anything runs. The sandbox limits what a model can do with the tools, so give it no secrets.
 */
export function sandboxTools(sandbox: Sandbox, options: SandboxToolsOptions = {}): SandboxTools {
  const { maxOutputLength: max = 16_000, maxTimeoutSeconds = 120 } = options;
  const timeoutMs = (seconds = maxTimeoutSeconds): number => Math.min(seconds, maxTimeoutSeconds) * 1000;
  return {
    runCommand: tool({
      description: "Run a shell command in the sandbox. Files are kept between commands.",
      inputSchema: schemaOf<Command>({ command: "string", cwd: "string?", timeoutSeconds: "number?" }),
      execute: guard<Command, CommandOutput>(async ({ command, timeoutSeconds, ...place }, signal) => {
        // A character has at most four bytes.
        const limits = { timeoutMs: timeoutMs(timeoutSeconds), maxOutputBytes: 4 * max, signal };
        return cut(await sandbox.commands.run(command, { ...limits, ...place }), max);
      }),
    }),
    runCode: tool({
      description: "Run Python or JavaScript in the sandbox. Variables are kept between calls.",
      inputSchema: schemaOf<Code>({
        code: "string",
        language: ["python", "javascript"],
        timeoutSeconds: "number?",
      }),
      execute: guard<Code, CodeOutput>(async ({ code, timeoutSeconds, ...place }, signal) => {
        const limits = { timeoutMs: timeoutMs(timeoutSeconds), signal };
        const { stdout, stderr, text, error } = await sandbox.runCode(code, { ...limits, ...place });
        const exception = error && { exception: error.traceback || `${error.name}: ${error.message}` };
        const value = text === undefined ? {} : { value: text };
        return cut<CodeOutput & Cut>({ stdout, stderr, ...value, ...exception, truncated: false }, max);
      }),
    }),
    readFile: tool({
      description: "Read a text file in the sandbox.",
      inputSchema: schemaOf<{ path: string }>({ path: "string" }),
      execute: guard<{ path: string }, { content: string }>(async ({ path }, signal) => {
        const decoder = new TextDecoder();
        let content = "";
        for await (const piece of sandbox.files.readStream(path, { signal })) {
          content += decoder.decode(piece, { stream: true });
          if (content.length > max) break;
        }
        return cut({ content, truncated: false }, max);
      }),
    }),
    writeFile: tool({
      description: "Write a text file in the sandbox. Creates its directories and replaces an existing file.",
      inputSchema: schemaOf<Written>({ path: "string", content: "string" }),
      execute: guard<Written, { written: string }>(async ({ path, content }, signal) => {
        await sandbox.files.write(path, content, { signal });
        return { written: path, truncated: false };
      }),
    }),
    listFiles: tool({
      description: "List a directory in the sandbox.",
      inputSchema: schemaOf<{ path?: string }>({ path: "string?" }),
      execute: guard<{ path?: string }, FileList>(async ({ path }, signal) => {
        const all = await sandbox.files.list(path, { signal });
        const entries = all.slice(0, maxEntries).map(({ name, type, size }) => ({ name, type, size }));
        return { entries, truncated: all.length > maxEntries };
      }),
    }),
  };
}

/** Errors of the sandbox become results. A cancelled call still rejects. */
function guard<I, O>(work: (input: I, signal: AbortSignal | undefined) => Promise<O & Cut>) {
  return async (input: I, { abortSignal }: { abortSignal?: AbortSignal }): Promise<ToolResult<O>> => {
    try {
      return await work(input, abortSignal);
    } catch (error) {
      if (!isSandboxError(error)) throw error;
      return { error: { reason: error.reason, message: error.message } };
    }
  };
}

function cut<T extends Cut>(result: T, max: number): T {
  const isLong = (value: unknown): value is string => typeof value === "string" && value.length > max;
  const texts = Object.entries(result).filter(([, value]) => isLong(value));
  const short = Object.fromEntries(texts.map(([name, value]) => [name, (value as string).slice(0, max)]));
  return { ...result, ...short, truncated: result.truncated || texts.length > 0 };
}

/** A list has the values that an optional text may have. */
type Field = "string" | "string?" | "number?" | readonly string[];
type Fields = Readonly<Record<string, Field>>;

function schemaOf<T>(fields: Fields): Schema<T> {
  const describe = (field: Field): JSONSchema7 =>
    typeof field === "string"
      ? { type: field === "number?" ? "number" : "string" }
      : { type: "string", enum: [...field] };
  const fits = (name: string, value: unknown): boolean => {
    const field = (Object.hasOwn(fields, name) && fields[name]) || [];
    if (value === undefined) return field !== "string";
    return typeof field === "string" ? typeof value === field.replace("?", "") : field.includes(value as string);
  };
  const validate = (value: unknown) => {
    const given = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
    const wrong = Object.keys({ ...fields, ...given }).find((name) => !fits(name, given[name]));
    if (wrong === undefined) return { success: true, value: given as T } as const;
    return { success: false, error: new Error(`The field "${wrong}" of the input is not valid`) } as const;
  };
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, describe(field)]));
  const required = Object.keys(fields).filter((name) => fields[name] === "string");
  return jsonSchema<T>({ type: "object", properties, required, additionalProperties: false }, { validate });
}
