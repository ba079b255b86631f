import { RouterError } from "../router-error.ts";
import { parseRequestHead, type RequestHeadText } from "./parse-head.ts";
import { readTransportHeaders, type TransportHeaders, tokens } from "./transport-headers.ts";

/** A request that gets one response. */
export interface PlainRequest {
  readonly head: RequestHeadText;
  readonly transport: TransportHeaders;
  readonly hasBody: boolean;
  /** Whether the client sends its body only after "100 Continue". */
  readonly waits: boolean;
}

/** A request that takes over the connection: an upgrade, or CONNECT, which names no protocol. */
interface TakeOver {
  readonly head: RequestHeadText;
  readonly handOver: { readonly protocol: string | undefined };
}

/** Reads the head of a request strictly. Everything ambiguous is an error. */
export function readRequest(text: string): PlainRequest | TakeOver | { readonly error: RouterError } {
  const head = parseRequestHead(text);
  if ("error" in head) return { error: head.error === "many" ? tooLarge() : notHttp() };
  const transport = readTransportHeaders(head.rawHeaders);
  if ("error" in transport || (transport.isChunked && head.minorVersion === 0)) return { error: notHttp() };
  const { length = 0, isChunked, expect } = transport;
  const hasBody = isChunked || length > 0;
  if (head.method === "CONNECT") return hasBody ? { error: notHttp() } : { head, handOver: { protocol: undefined } };
  if (!hasBody && maySwitch(head, transport)) return { head, handOver: { protocol: transport.upgrade ?? "" } };
  const waits = expect !== undefined && head.minorVersion === 1;
  if (waits && expect.toLowerCase() !== "100-continue") return { error: notHttp() };
  return { head, transport, hasBody, waits };
}

/**
 * A request with a body is never upgraded: it would be ambiguous where the body ends. Nor is one that asks for HTTP/2
 * (h2c): the client could then send the sandbox requests that the router does not check.
 */
function maySwitch({ method, minorVersion }: RequestHeadText, { upgrade, connection }: TransportHeaders): boolean {
  const isAsked = method === "GET" && minorVersion === 1 && upgrade !== undefined && connection.includes("upgrade");
  return isAsked && !tokens(upgrade).some((protocol) => protocol.startsWith("h2c"));
}

export const notHttp = (): RouterError => new RouterError("InvalidRequest", "The request is not valid HTTP.");
export const tooLarge = (): RouterError => new RouterError("HeadersTooLarge", "The request headers are too large.");
