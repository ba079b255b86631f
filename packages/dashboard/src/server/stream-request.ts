import { sendableHeaders } from "./forward.ts";
import { badRequest } from "./http-failure.ts";
import { kubePath, routerPath } from "./paths.ts";
import type { UpstreamRequest } from "./upstream.ts";

/** What the page asks for: a GET of the Kubernetes API, or a call of the runtime API. */
export interface StreamRequest {
  readonly path: string;
  readonly runtime: RuntimeCall | undefined;
}

interface RuntimeCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In base64. */
  readonly body: string;
}

/** The request that a stream sends, with the same paths and headers as requests over HTTP. Throws if the message is not valid. */
export function upstreamRequest({ path, runtime }: StreamRequest): Omit<UpstreamRequest, "session" | "signal"> {
  if (runtime === undefined) return { method: "GET", path: kubePath(path), headers: { accept: "application/json" } };
  if (!isCall(runtime)) throw badRequest("The call is not valid");
  // The length is that of the body below.
  const { "content-length": _, ...sent } = sendableHeaders(runtime.headers);
  return { method: "POST", path: routerPath(runtime.path), headers: sent, body: Buffer.from(runtime.body, "base64") };
}

function isCall(value: unknown): value is RuntimeCall {
  if (typeof value !== "object" || value === null) return false;
  const { path, body, headers } = value as Partial<Record<keyof RuntimeCall, unknown>>;
  if (typeof path !== "string" || typeof body !== "string" || typeof headers !== "object" || headers === null)
    return false;
  return Object.values(headers).every((text) => typeof text === "string");
}
