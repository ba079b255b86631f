import { SandboxError } from "../errors.ts";
import {
  ConnectionLost,
  type HttpBody,
  type HttpRequest,
  type HttpResponse,
  readAll,
  type SendHttp,
} from "./exchange.ts";
import { readStream } from "./read-stream.ts";

declare const location: { readonly origin: string };

/**
 * Sends requests with `fetch`, in browsers. Only a server that has the origin of the page gets its cookies: the dashboard needs that of its
 * session. A body that is a stream is read into memory first: browsers can stream uploads over HTTP/2 only.
 */
export function sendWithFetch(send: typeof globalThis.fetch): SendHttp {
  return (request) => exchange(send, request);
}

async function exchange(
  send: typeof globalThis.fetch,
  { method, url, headers, body, signal }: HttpRequest,
): Promise<HttpResponse> {
  // A page cannot set the user agent: some browsers ignore it, others ask the server for permission.
  const { "user-agent": _, ...sent } = headers;
  const request: RequestInit = {
    method,
    headers: sent,
    signal: signal ?? null,
    ...(body !== undefined && { body: await contentOf(body) }),
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    referrerPolicy: "no-referrer",
  };
  try {
    return responseOf(await send(url, request), signal);
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (await isRefusedOrigin(url)) throw refusedOrigin(url);
    // `fetch` does not tell whether the request was sent.
    throw new ConnectionLost(true, error);
  }
}

async function contentOf(body: HttpBody): Promise<string | Uint8Array<ArrayBuffer>> {
  return typeof body === "string" || body instanceof Uint8Array ? body : readAll(body);
}

function responseOf(response: Response, signal: AbortSignal | undefined): HttpResponse {
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      if (response.body !== null) yield* readStream(response.body);
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : new ConnectionLost(true, error);
    }
  }
  return { status: response.status, header: (name) => response.headers.get(name) ?? undefined, body: body() };
}

/**
 * Whether the server can be reached but does not let pages of this origin read its responses. `fetch` reports both as the same error.
 * Without CORS the page learns only that there was a response.
 */
async function isRefusedOrigin(url: string): Promise<boolean> {
  const probe = (mode: "cors" | "no-cors"): Promise<boolean> =>
    fetch(new URL("/healthz", url), { mode, credentials: "omit", cache: "no-store" }).then(
      () => true,
      () => false,
    );
  // The last probe makes sure that the server has not stopped in between.
  return (await probe("no-cors")) && !(await probe("cors")) && probe("no-cors");
}

function refusedOrigin(url: string): SandboxError {
  const { origin } = new URL(url);
  const hint = "its operator must allow the origin, for example with --allow-origin";
  return new SandboxError("Forbidden", `Cannot use ${origin} from pages of ${location.origin}: ${hint}`);
}
