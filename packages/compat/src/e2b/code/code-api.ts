import { RpcError } from "../../connect/rpc-error.ts";
import { textField } from "../../http/fields.ts";
import { asHttpError } from "../../http/kube-failure.ts";
import { readJsonObject } from "../../http/read-body.ts";
import { sendEmpty, sendJson } from "../../http/reply.ts";
import { languageOf } from "../../runtime/languages.ts";
import { RuntimeError } from "../../runtime/rest.ts";
import { RouterRefusal } from "../../runtime/router-refusal.ts";
import type { EnvdCall } from "../envd/context.ts";
import { findContext, listContexts, newContext, removeContext, restartContext } from "./contexts.ts";
import { execute } from "./execute.ts";
import { PlainError } from "./plain-error.ts";

const maxBodyBytes = 64 * 1024;

/** The protocol of E2B's code interpreter, for a request whose token was verified. */
export async function serveCode(call: EnvdCall): Promise<void> {
  try {
    await dispatch(call);
  } catch (error) {
    // The connection is used for the answer of whoever ends the run.
    if (error instanceof RouterRefusal || call.signal.aborted) throw error;
    sendPlain(call, asPlainError(error));
  }
}

async function dispatch(call: EnvdCall): Promise<void> {
  const { request, response, url } = call;
  const route = `${request.method} ${url.pathname}`;
  if (route === "GET /health") return sendJson(response, 200, "OK");
  if (route === "POST /execute") return execute(call);
  if (route === "GET /contexts") return sendJson(response, 200, await listContexts(call));
  if (route === "POST /contexts") return create(call);
  const [, encoded = "", action] = /^\/contexts\/([^/]+)(\/restart)?$/.exec(url.pathname) ?? [];
  const id = (await findContext(call, decode(encoded))).id;
  if (request.method === "POST" && action !== undefined) {
    await restartContext(call, id);
    return sendJson(response, 200, {});
  }
  if (request.method === "DELETE" && action === undefined) {
    await removeContext(call, id);
    return sendEmpty(response, 204);
  }
  throw new PlainError(404, "Not found");
}

async function create(call: EnvdCall): Promise<void> {
  const body = await readJsonObject(call.request, maxBodyBytes);
  const language = languageOf(textField(body, "language"));
  if (language.kind !== "interpreter") {
    const name = language.kind === "shell" ? "bash" : language.name;
    throw new PlainError(500, `A context for ${name} is not available: this server has python and javascript`);
  }
  const created = await newContext(call, { language: language.name, cwd: textField(body, "cwd") });
  sendJson(call.response, 200, created);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function asPlainError(error: unknown): PlainError {
  if (error instanceof PlainError) return error;
  if (error instanceof RuntimeError || error instanceof RpcError) return new PlainError(error.status, error.message);
  const { status, message } = asHttpError(error);
  return new PlainError(status, message);
}

function sendPlain({ response }: EnvdCall, { status, message }: PlainError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(message),
  });
  response.end(message);
}
