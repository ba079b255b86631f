import { textField, textMapField } from "../../http/fields.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { readJsonLines } from "../../runtime/json-lines.ts";
import { callProcess, streamProcess } from "../../runtime/process-calls.ts";
import { sendRest } from "../../runtime/rest.ts";
import { actingUser } from "../envd/acting-user.ts";
import type { EnvdCall } from "../envd/context.ts";
import { processEnvironment } from "../envd/process-environment.ts";
import { CodeLines } from "./code-lines.ts";
import { defaultContext, findContext } from "./contexts.ts";
import { languageOf } from "./languages.ts";
import { PlainError } from "./plain-error.ts";
import { resultFields } from "./result-fields.ts";

interface CodeRequest {
  readonly code: string;
  readonly contextId: string | undefined;
  readonly language: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

const maxCodeBytes = 4 * 1024 * 1024;

/** `POST /execute`: runs code and streams what it prints and shows. */
export async function execute(call: EnvdCall): Promise<void> {
  const body = await readJsonObject(call.request, maxCodeBytes);
  const wanted: CodeRequest = {
    code: textField(body, "code") ?? "",
    contextId: textField(body, "context_id"),
    language: textField(body, "language"),
    variables: textMapField(body, "env_vars"),
  };
  if (wanted.contextId !== undefined && wanted.language !== undefined) {
    throw new PlainError(400, "Only one of context_id or language can be provided");
  }
  const language = languageOf(wanted.language);
  if (wanted.contextId !== undefined) {
    return inContext(call, (await findContext(call, wanted.contextId)).id, wanted);
  }
  switch (language.kind) {
    case "interpreter":
      return inContext(call, await defaultContext(call, language.name), wanted);
    case "shell":
      return inShell(call, wanted);
    default:
      return refuseLanguage(call, language.name);
  }
}

interface RuntimeEvent {
  readonly type: "stdout" | "stderr" | "result" | "display" | "error" | "end";
  readonly text?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly message?: string;
  readonly traceback?: string;
  readonly execution_count?: number;
}

const maxLineBytes = 96 * 1024 * 1024;
/** The longest time that sandboxd accepts. The clients have their own limits, and end the request. */
const longestSeconds = 86_400;

async function inContext(call: EnvdCall, id: string, { code, variables }: CodeRequest): Promise<void> {
  const { context, target, signal } = call;
  const answer = await sendRest(context.runtime, target, {
    method: "POST",
    path: `/v1/contexts/${encodeURIComponent(id)}/execute?stream=true`,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code, timeout_seconds: longestSeconds, env: variables }),
    signal,
  });
  using lines = new CodeLines(call.response);
  for await (const event of readJsonLines<RuntimeEvent>(answer, maxLineBytes)) {
    for (const line of linesOf(event)) await lines.send(line, signal);
  }
  lines.end();
}

function linesOf(event: RuntimeEvent): readonly object[] {
  switch (event.type) {
    case "stdout":
    case "stderr":
      return [outputLine(event.type, event.text ?? "")];
    case "result":
    case "display":
      return [{ type: "result", ...resultFields(event.data ?? {}), is_main_result: event.type === "result" }];
    case "error":
      return [errorLine(event.name ?? "Error", event.message ?? "", event.traceback ?? "")];
    case "end":
      return [
        { type: "number_of_executions", execution_count: event.execution_count ?? 0 },
        { type: "end_of_execution" },
      ];
    default:
      return [];
  }
}

const outputLine = (type: "stdout" | "stderr", text: string): object => ({
  type,
  text,
  timestamp: new Date().toISOString(),
});

const errorLine = (name: string, value: string, traceback: string): object => ({
  type: "error",
  name,
  value,
  traceback,
});

/** A script for bash. Nothing but files is kept from one to the next. */
async function inShell(call: EnvdCall, { code, variables }: CodeRequest): Promise<void> {
  const { context, target, signal } = call;
  const user = await actingUser(call, undefined);
  const config = {
    command: ["/bin/bash", "-l", "-c", code],
    cwd: user.home,
    envVars: await processEnvironment(call, variables),
    ...(user.name !== undefined && { user: user.name }),
  };
  let lines: CodeLines | undefined;
  try {
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    for await (const event of streamProcess(context.runtime, target, "Start", { config }, signal)) {
      lines ??= new CodeLines(call.response);
      const pid = event.init?.processId;
      if (pid !== undefined) {
        callProcess(context.runtime, target, "WriteStdin", { processId: pid, eof: {} }).catch(() => undefined);
      }
      for (const stream of ["stdout", "stderr"] as const) {
        const data = event[stream];
        if (data === undefined) continue;
        const text = decoders[stream].decode(Buffer.from(data, "base64"), { stream: true });
        await lines.send(outputLine(stream, text), signal);
      }
      const { exitCode = 0 } = event.exit ?? {};
      if (exitCode !== 0) await lines.send(errorLine("ExitError", `exit status ${exitCode}`, ""), signal);
    }
    await lines?.send({ type: "end_of_execution" }, signal);
    lines?.end();
  } finally {
    lines?.[Symbol.dispose]();
  }
}

/** The run ends with an error, as that of code that cannot be parsed. */
async function refuseLanguage({ response, signal }: EnvdCall, name: string): Promise<void> {
  using lines = new CodeLines(response);
  const value = `This server runs python, javascript and bash, not ${name}`;
  await lines.send(errorLine("LanguageNotAvailable", value, value), signal);
  await lines.send({ type: "end_of_execution" }, signal);
  lines.end();
}
