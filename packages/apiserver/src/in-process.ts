import { text } from "node:stream/consumers";
import type { StreamResponse, Transport, TransportRequest, TransportResponse } from "@agent-sandbox/kube";
import type { Identity } from "./auth/identity.ts";
import { asksToImpersonate, readImpersonation } from "./auth/impersonation.ts";
import { bodyError, copyJson } from "./json.ts";
import type { Reply } from "./request/api-request.ts";
import { handle } from "./request/handle.ts";
import { failure } from "./request/replies.ts";
import type { ApiContext } from "./verbs/context.ts";

/**
 * The transport for clients in the same process. Requests take the same path as over HTTPS, but without encoding: answers
 * contain the stored objects, which the client must not change. Request bodies are copied.
 */
export function inProcessTransport(context: ApiContext, identity: Identity): Transport {
  return {
    send: async (request) => {
      const reply = await dispatch(context, request, identity);
      if (reply.kind === "watch") throw new TypeError(`Cannot send "${request.path}": a watch must be streamed`);
      return toResponse(reply);
    },
    stream: async (request): Promise<StreamResponse> => {
      const reply = await dispatch(context, request, identity);
      if (reply.kind === "watch") return { status: reply.status, headers: reply.headers, events: reply.events };
      return toResponse(reply);
    },
    close: async () => undefined,
  };
}

async function dispatch(context: ApiContext, request: TransportRequest, identity: Identity): Promise<Reply> {
  request.signal?.throwIfAborted();
  const { method, path, headers = {}, body, signal } = request;
  const copied = body === undefined ? { value: undefined } : copyJson(body);
  if ("problem" in copied) return failure(bodyError(copied.problem));
  const asked = Object.keys(headers).some(asksToImpersonate);
  const impersonate = asked ? readImpersonation(eachOnce(headers)) : undefined;
  return handle(context, { method, url: path, headers, body: copied.value, identity, impersonate, signal });
}

function eachOnce(headers: Readonly<Record<string, string>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
}

async function toResponse(reply: Exclude<Reply, { kind: "watch" }>): Promise<TransportResponse> {
  const { status, headers } = reply;
  if (reply.kind === "stream") return { status, headers, body: await text(reply.body) };
  return { status, headers, body: reply.kind === "text" ? reply.text : reply.body };
}
