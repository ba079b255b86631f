import { randomBytes } from "node:crypto";
import { textField } from "../../http/fields.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendEmpty, sendJson } from "../../http/reply.ts";
import { Files } from "../../runtime/file-calls.ts";
import { RuntimeError, sendRest, tellRest } from "../../runtime/rest.ts";
import { OpenSandboxError } from "../failure.ts";
import { readTimeout } from "./command-request.ts";
import type { ExecdCall } from "./context.ts";
import { invalidRequest } from "./execd-error.ts";
import { pathsOf } from "./paths.ts";
import { processVariables } from "./process-variables.ts";
import { sessionScript } from "./session-script.ts";
import { streamToClient } from "./stream-process.ts";
import { sessionsFolder } from "./work-folders.ts";

const maxBytes = 4 * 1024 * 1024;

/** `POST /session`. A session is a folder in the sandbox: the process of this server keeps nothing. */
export async function createSession(call: ExecdCall): Promise<void> {
  const { context, target, signal } = call;
  const body = await readJsonObject(call.request, maxBytes);
  const paths = await pathsOf(call);
  const cwd = paths.resolve(textField(body, "cwd") || ".");
  const files = new Files(context.runtime, target, { signal });
  if ((await files.stat(cwd, { follow: true })).type !== "directory") throw invalidRequest(`cwd is not a directory`);
  const id = randomBytes(16).toString("hex");
  const folder = folderOf(id);
  // Commands of every user of the sandbox may run in it.
  await tellRest(context.runtime, target, "/v1/fs/mkdir", { body: { path: folder, mode: "0777" }, signal });
  const write = { method: "PUT", path: `/v1/files${folder}/cwd?mode=0666`, body: cwd, signal };
  (await sendRest(context.runtime, target, write)).resume();
  sendJson(call.response, 200, { session_id: id });
}

/** `POST /session/{id}/run` */
export async function runInSession(call: ExecdCall, id: string): Promise<void> {
  const body = await readJsonObject(call.request, maxBytes);
  const command = textField(body, "command") ?? "";
  if (command === "") throw invalidRequest("command is required");
  await requireSession(call, id);
  const given = textField(body, "cwd");
  const paths = await pathsOf(call);
  const words = [command, ...(given ? [paths.resolve(given)] : [])];
  await streamToClient(call, {
    commands: (["bash", "sh"] as const).map((shell) => [
      shell,
      "-c",
      sessionScript(folderOf(id), shell),
      shell,
      ...words,
    ]),
    cwd: paths.workFolder,
    variables: await processVariables(call),
    user: undefined,
    timeoutMs: readTimeout(body),
    background: false,
  });
}

/** `DELETE /session/{id}` */
export async function deleteSession(call: ExecdCall, id: string): Promise<void> {
  const { context, target, signal } = call;
  await requireSession(call, id);
  await new Files(context.runtime, target, { signal }).remove(folderOf(id));
  sendEmpty(call.response, 200);
}

const folderOf = (id: string): string => `${sessionsFolder}/${id}`;

/** The name of a folder must not be able to leave the folder of sessions, or to add to the script. */
async function requireSession({ context, target, signal }: ExecdCall, id: string): Promise<void> {
  const missing = new OpenSandboxError(404, "CONTEXT_NOT_FOUND", `Session ${id.slice(0, 64)} not found`);
  if (!/^[0-9a-f]{32}$/.test(id)) throw missing;
  try {
    await new Files(context.runtime, target, { signal }).stat(folderOf(id), { follow: false });
  } catch (error) {
    if (error instanceof RuntimeError && error.status === 404) throw missing;
    throw error;
  }
}
