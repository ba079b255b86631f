import type { IncomingMessage } from "node:http";
import { parseJsonObject, readBody } from "../http/read-body.ts";
import { type Runtime, type RuntimeRequest, restPort, type Target } from "./runtime.ts";

/** An error answer of sandboxd's REST API. */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly code: string;
  readonly status: number;

  constructor(code: string, status: number, message: string) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const maxAnswerBytes = 64 * 1024 * 1024;

type RestRequest = Omit<RuntimeRequest, "port">;

/** Sends a request to sandboxd's REST API. Rejects with a `RuntimeError` unless it succeeded. */
export async function sendRest(runtime: Runtime, target: Target, request: RestRequest): Promise<IncomingMessage> {
  const answer = await runtime.send(target, { ...request, port: restPort });
  const { statusCode: status = 500 } = answer;
  if (status < 400) return answer;
  throw errorOf(status, await readBody(answer, maxAnswerBytes));
}

/** For answers that are one JSON object. */
export async function callRest<T>(runtime: Runtime, target: Target, request: RestRequest): Promise<T> {
  const answer = await sendRest(runtime, target, request);
  return parseJsonObject(await readBody(answer, maxAnswerBytes)) as T;
}

/** For answers without a body, or whose body does not matter. */
export async function tellRest(
  runtime: Runtime,
  target: Target,
  path: string,
  { method = "POST", body, signal }: { method?: string; body?: object; signal?: AbortSignal } = {},
): Promise<void> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const answer = await sendRest(runtime, target, { method, path, headers, ...content, ...(signal && { signal }) });
  answer.resume();
}

function errorOf(status: number, bytes: Buffer): RuntimeError {
  try {
    const { code, message } = JSON.parse(bytes.toString("utf8")) as {
      readonly code?: unknown;
      readonly message?: unknown;
    };
    if (typeof code === "string" && typeof message === "string") return new RuntimeError(code, status, message);
  } catch {
    // Not an answer of sandboxd.
  }
  return new RuntimeError("INTERNAL", status, `The sandbox answered with status ${status}; does it run sandboxd?`);
}

/** A path in a URL of the REST API. Each part is encoded once. */
export function pathInUrl(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
