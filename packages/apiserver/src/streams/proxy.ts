import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { connect as encrypt } from "node:tls";
import type { PodStreams } from "@agent-sandbox/kube";
import { ApiError } from "../api-error.ts";
import { fromNode, notOffered } from "./node-error.ts";
import type { ProxyTarget } from "./proxy-target.ts";

/** A request and the Pod to which it is proxied. */
export interface ProxyCall {
  readonly request: IncomingMessage;
  readonly target: ProxyTarget;
  readonly podStreams: PodStreams | undefined;
}

/** Proxies a request to a port of a Pod without buffering. Throws only before the response has started. */
export async function proxy(call: ProxyCall, response: ServerResponse): Promise<void> {
  const { request } = call;
  const connection = await dial(call);
  const answer = await answerOf(call, connection).catch((error: unknown) => {
    connection.destroy();
    throw unreachable(error);
  });
  response.writeHead(answer.statusCode ?? 502, passedBack(answer.headers, prefixOf(request)));
  await pipeline(answer, response).catch(() => undefined);
  connection.destroy();
}

async function answerOf({ request }: ProxyCall, connection: Duplex): Promise<IncomingMessage> {
  // Loaded on first use, because loading it takes a fifth of the server's start time.
  const { request: ask } = await import("node:http");
  return new Promise((resolve, reject) => {
    const passed = ask({
      createConnection: () => connection,
      method: request.method,
      path: pathOf(request),
      headers: { ...passedOn(request), connection: "close" },
      setHost: false,
    });
    passed.once("response", resolve);
    passed.once("error", reject);
    pipeline(request, passed).catch(reject);
  });
}

/** Proxies an upgrade request. After the request, all bytes are copied in both directions. */
export async function proxyUpgrade(call: ProxyCall, socket: Socket, head: Buffer): Promise<void> {
  const { request } = call;
  const connection = await dial(call);
  const { connection: how = "Upgrade", upgrade = "" } = request.headers;
  const headers = Object.entries({ ...passedOn(request), connection: how, upgrade });
  const lines = headers.flatMap(([name, value]) => [value ?? []].flat().map((each) => `${name}: ${each}`));
  connection.write(`${request.method} ${pathOf(request)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1");
  connection.write(head);
  await join(socket, connection);
}

/** Connects two streams until one of them closes, and then closes both. */
function join(one: Duplex, other: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      one.destroy();
      other.destroy();
      resolve();
    };
    for (const each of [one, other]) each.once("error", end).once("close", end);
    one.pipe(other);
    other.pipe(one);
  });
}

async function dial({ target, podStreams }: ProxyCall): Promise<Duplex> {
  if (podStreams?.portForward === undefined) throw notOffered("connections to Pods");
  const { encrypted, ...place } = target;
  const plain = await podStreams.portForward(place).catch((error: unknown) => {
    throw unreachable(error);
  });
  // Like kube-apiserver, do not verify the certificate of a Pod, which no known authority signs.
  return encrypted ? encrypt({ socket: plain, rejectUnauthorized: false }) : plain;
}

function unreachable(error: unknown): ApiError {
  const { message } = fromNode(error, "error trying to reach the pod: ");
  return new ApiError("ServiceUnavailable", message, { cause: error });
}

/** Headers that are not forwarded: hop-by-hop headers and credentials for this server. */
const ownHeaders = ["connection", "keep-alive", "proxy-authorization", "te", "trailer", "upgrade", "authorization"];

function passedOn(request: IncomingMessage): IncomingHttpHeaders {
  const named = (request.headers.connection ?? "").toLowerCase().split(",");
  const left = new Set([...ownHeaders, ...named.map((name) => name.trim())]);
  const kept = Object.entries(request.headers).filter(
    ([name]) => !left.has(name) && !name.startsWith("impersonate-") && name !== "x-forwarded-uri",
  );
  return {
    ...Object.fromEntries(kept),
    "x-forwarded-host": request.headers.host ?? "",
    "x-forwarded-proto": "https",
    "x-forwarded-uri": prefixOf(request) + pathOf(request),
    "x-forwarded-for": request.socket.remoteAddress ?? "",
  };
}

/** Rewrites a redirect within the Pod to go through this server. */
function passedBack(headers: IncomingHttpHeaders, prefix: string): IncomingHttpHeaders {
  const { connection: _connection, "keep-alive": _keepAlive, location, ...rest } = headers;
  if (location === undefined) return rest;
  return { ...rest, location: location.startsWith("/") && !location.startsWith("//") ? prefix + location : location };
}

/** Matches the proxy prefix, the path in the Pod, and the query. */
const marked = /^(\/api\/v1\/namespaces\/[^/]+\/[^/]+\/[^/]+\/proxy)(\/[^?]*)?(\?.*)?$/s;

const prefixOf = (request: IncomingMessage): string => marked.exec(request.url ?? "")?.[1] ?? "";

function pathOf(request: IncomingMessage): string {
  const [, , path = "/", query = ""] = marked.exec(request.url ?? "") ?? [];
  return path + query;
}
