import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RuntimeError, tellRest } from "./rest.ts";
import { RouterRefusal } from "./router-refusal.ts";
import type { Runtime, Target } from "./runtime.ts";
import type { SandboxCall } from "./sandbox-call.ts";

/** Credentials and names that are meant for this server. The sandbox must not see them. */
const own: ReadonlySet<string> = new Set([
  "x-access-token",
  "e2b-traffic-access-token",
  "e2b-sandbox-id",
  "e2b-sandbox-port",
  "x-api-key",
  "open-sandbox-api-key",
  "x-execd-access-token",
]);

const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The headers of a request for the sandbox's own server. `Authorization` is meant for that server. */
function forwarded({ headers }: IncomingMessage): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => {
    const isOurs = own.has(name.replaceAll("_", "-")) || name.startsWith("x-sandbox-");
    return !isOurs && !hopByHop.has(name) && name !== "host";
  });
  return { ...Object.fromEntries(kept), "x-sandbox-forward-authorization": "true" };
}

export interface ProxyOptions {
  /** The path and query at the sandbox. Default: those of the request. */
  readonly path?: string;
  /** With a token for the daemon, if that of the call is for the port only. */
  readonly daemon?: Target;
  /** The headers of the answer, as names and values in turns. */
  readonly relay?: (rawHeaders: string[]) => string[];
}

/** Relays a request to a port of the sandbox. */
export async function proxy(call: SandboxCall, port: number, options: ProxyOptions = {}): Promise<void> {
  const { response, context, target } = call;
  const { daemon = target, relay = (headers) => headers } = options;
  if (!context.openPorts.has(target, port)) await openPort({ ...call, target: daemon }, port);
  let answer: IncomingMessage;
  try {
    answer = await send(call, port, options.path ?? call.request.url ?? "/");
  } catch (error) {
    context.openPorts.forget(target, port);
    throw error;
  }
  context.openPorts.add(target, port);
  response.writeHead(answer.statusCode ?? 502, relay(relayedHeaders(answer)));
  await pipeline(answer, response);
}

/**
 * Makes a server that listens only on the sandbox's loopback reachable. Throws if nothing listens: the router would try for a second.
 */
export async function openPort(
  { context, target, signal }: Pick<SandboxCall, "context" | "target" | "signal">,
  port: number,
): Promise<void> {
  try {
    await tellRest(context.runtime, target, `/v1/ports/${port}/forward`, { signal });
  } catch (error) {
    if (error instanceof RuntimeError && error.code === "NOT_FOUND") {
      throw new RouterRefusal("Refused", 502, error.message, { cause: error });
    }
    // An older daemon, or a token for one port only: the request itself will tell.
    if (!(error instanceof RuntimeError || error instanceof RouterRefusal)) throw error;
  }
}

function send({ context, target, request, signal }: SandboxCall, port: number, path: string): Promise<IncomingMessage> {
  const hasBody = request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined;
  return context.runtime.send(target, {
    port,
    method: request.method ?? "GET",
    path,
    headers: forwarded(request),
    signal,
    ...(hasBody && { body: request }),
  });
}

/** Names and values alternate, so that repeated headers stay apart. */
function relayedHeaders({ rawHeaders }: IncomingMessage): string[] {
  return rawHeaders.filter((_, index) => !hopByHop.has((rawHeaders[index - (index % 2)] ?? "").toLowerCase()));
}

interface Upgrade {
  readonly runtime: Runtime;
  readonly target: Target;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** The path and query at the sandbox. Default: those of the request. */
  readonly path?: string;
}

/** Relays an upgrade, and then the bytes of both sides. */
export function proxyUpgrade({ runtime, target, request, socket, head, path }: Upgrade, port: number): void {
  const { url, headers } = runtime.route(target, port);
  const sent = httpRequest({
    agent: false,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port,
    method: request.method ?? "GET",
    path: path ?? request.url ?? "/",
    headers: { ...forwarded(request), ...headers, connection: "upgrade", upgrade: request.headers.upgrade },
  });
  const fail = (): unknown => socket.destroy();
  sent.on("error", fail);
  socket.on("error", () => sent.destroy());
  socket.on("close", () => sent.destroy());
  sent.on("response", (answer) => {
    socket.write(headOf(answer));
    pipeline(answer, socket).catch(fail);
  });
  sent.on("upgrade", (answer, upstream, first) => {
    socket.write(headOf(answer));
    if (first.length > 0) socket.write(first);
    if (head.length > 0) upstream.write(head);
    upstream.on("error", fail);
    pipeline(upstream, socket).catch(fail);
    pipeline(socket, upstream).catch(() => upstream.destroy());
  });
  sent.end();
}

function headOf({ statusCode = 502, statusMessage = "", rawHeaders }: IncomingMessage): string {
  const lines = Array.from({ length: rawHeaders.length / 2 }, (_, index) => {
    return `${rawHeaders[index * 2]}: ${rawHeaders[index * 2 + 1]}`;
  });
  const isUpgrade = statusCode === 101;
  const kept = isUpgrade
    ? lines
    : [...lines.filter((line) => !/^(?:connection|transfer-encoding):/i.test(line)), "connection: close"];
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${kept.join("\r\n")}\r\n\r\n`;
}
