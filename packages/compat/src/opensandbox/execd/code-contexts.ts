import { randomUUID } from "node:crypto";
import { textField } from "../../http/fields.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendEmpty, sendJson } from "../../http/reply.ts";
import { type CodeContext, CodeContexts, type ContextSpec } from "../../runtime/code-contexts.ts";
import { languageOf } from "../../runtime/languages.ts";
import { OpenSandboxError } from "../failure.ts";
import type { ExecdCall } from "./context.ts";
import { invalidRequest, missingQuery } from "./execd-error.ts";
import { pathsOf } from "./paths.ts";
import { processVariables } from "./process-variables.ts";

const maxBytes = 64 * 1024;

const contextsOf = ({ context, target, signal }: ExecdCall): CodeContexts =>
  new CodeContexts(context.runtime, target, signal);

const shown = ({ id, language }: CodeContext): object => ({ id, language });

/** `POST /code/context` */
export async function createCodeContext(call: ExecdCall): Promise<void> {
  const body = await readJsonObject(call.request, maxBytes);
  const language = interpreterFor(textField(body, "language"));
  const created = await contextsOf(call).create(await specOf(call, randomUUID(), language));
  sendJson(call.response, 200, shown(created));
}

/** `GET /code/contexts?language=…` */
export async function listCodeContexts(call: ExecdCall): Promise<void> {
  sendJson(call.response, 200, (await contextsIn(call, call.url.searchParams.get("language"))).map(shown));
}

/** `DELETE /code/contexts?language=…` */
export async function deleteCodeContexts(call: ExecdCall): Promise<void> {
  const language = call.url.searchParams.get("language") ?? "";
  if (language === "") throw missingQuery("language");
  for (const { id } of await contextsIn(call, language)) await contextsOf(call).remove(id);
  sendEmpty(call.response, 200);
}

async function contextsIn(call: ExecdCall, language: string | null): Promise<readonly CodeContext[]> {
  const wanted = language === null || language === "" ? undefined : interpreterFor(language);
  const found = await contextsOf(call).list();
  return wanted === undefined ? found : found.filter((one) => one.language === wanted);
}

/** `GET /code/contexts/{id}` */
export async function getCodeContext(call: ExecdCall, id: string): Promise<void> {
  sendJson(call.response, 200, shown(await findCodeContext(call, id)));
}

/** `DELETE /code/contexts/{id}` */
export async function deleteCodeContext(call: ExecdCall, id: string): Promise<void> {
  await contextsOf(call).remove((await findCodeContext(call, id)).id);
  sendEmpty(call.response, 200);
}

export async function findCodeContext(call: ExecdCall, id: string): Promise<CodeContext> {
  const found = await contextsOf(call).find(id);
  if (found === undefined) throw new OpenSandboxError(404, "CONTEXT_NOT_FOUND", `Context ${id.slice(0, 64)} not found`);
  return found;
}

/** The context of code that names none. There is one for each language, and it is made when code first runs in it. */
export async function defaultCodeContext(
  call: ExecdCall,
  wanted: string | undefined,
): Promise<Pick<CodeContext, "id" | "language">> {
  const language = interpreterFor(wanted);
  const id = `default-${language}`;
  await contextsOf(call).ensure(await specOf(call, id, language));
  return { id, language };
}

function interpreterFor(name: string | undefined): string {
  const language = languageOf(name);
  if (language.kind === "interpreter") return language.name;
  const wanted = language.kind === "shell" ? "bash" : language.name;
  throw invalidRequest(`language can be python or javascript, not ${JSON.stringify(wanted)}`);
}

async function specOf(call: ExecdCall, name: string, language: string): Promise<ContextSpec> {
  const [{ workFolder }, env] = await Promise.all([pathsOf(call), processVariables(call)]);
  return { name, language, cwd: workFolder, env };
}
