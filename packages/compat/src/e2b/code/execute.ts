import { textField, textMapField } from "../../http/fields.ts";
import { readJsonObject } from "../../http/read-body.ts";
import type { CodeContext } from "../../runtime/code-contexts.ts";
import { languageOf } from "../../runtime/languages.ts";
import { type CodeEvent, runCode } from "../../runtime/run-code.ts";
import type { EnvdCall } from "../envd/context.ts";
import { CodeLines, errorLine } from "./code-lines.ts";
import { defaultContext, findContext } from "./contexts.ts";
import { LineOutput } from "./line-output.ts";
import { PlainError } from "./plain-error.ts";
import { resultFields } from "./result-fields.ts";
import { runShell } from "./run-shell.ts";

export interface CodeRequest {
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
    return inContext(call, await findContext(call, wanted.contextId), wanted);
  }
  switch (language.kind) {
    case "interpreter":
      return inContext(call, { id: await defaultContext(call, language.name), language: language.name }, wanted);
    case "shell":
      return runShell(call, wanted);
    default:
      return refuseLanguage(call, language.name);
  }
}

async function inContext(
  call: EnvdCall,
  { id, language }: Pick<CodeContext, "id" | "language">,
  { code, variables }: CodeRequest,
): Promise<void> {
  const { context, target, signal } = call;
  const events = await runCode(context.runtime, target, { context: id, language, code, variables }, signal);
  using lines = new CodeLines(call.response);
  using output = new LineOutput(lines, signal);
  for await (const event of events) {
    if (event.type === "stdout" || event.type === "stderr") {
      await output.write(event.type, event.text ?? "");
      continue;
    }
    // The answer is cut off when the sandbox is gone: the run has no result.
    if (event.name === "ContextEnded" && !exists(call)) {
      call.response.destroy();
      return;
    }
    await output.flush();
    for (const line of linesOf(event)) await lines.send(line, signal);
  }
  lines.end();
}

function exists({ context, target }: EnvdCall): boolean {
  return context.directory.machine(target.namespace, target.name)?.sandbox?.metadata.uid === target.uid;
}

function linesOf(event: CodeEvent): readonly object[] {
  switch (event.type) {
    case "result":
    case "display":
      return [{ type: "result", ...resultFields(event.data ?? {}), is_main_result: event.type === "result" }];
    case "error":
      return [errorLine(event.name ?? "Error", event.message ?? "", event.traceback ?? "")];
    case "end":
      return [...countLines(event), { type: "end_of_execution" }];
    default:
      return [];
  }
}

/** A run whose interpreter ended has no count. */
function countLines({ execution_count }: CodeEvent): readonly object[] {
  return execution_count === undefined ? [] : [{ type: "number_of_executions", execution_count }];
}

/** The run ends with an error, as that of code that cannot be parsed. */
async function refuseLanguage({ response, signal }: EnvdCall, name: string): Promise<void> {
  using lines = new CodeLines(response);
  const value = `This server runs python, javascript and bash, not ${name}`;
  await lines.send(errorLine("LanguageNotAvailable", value, value), signal);
  await lines.send({ type: "end_of_execution" }, signal);
  lines.end();
}
