import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { PullSession } from "./pull-session.ts";
import type { FindTarget, Target } from "./pull-targets.ts";
import { connectTo, type UpstreamProxy, usesProxy } from "./upstream-proxy.ts";

export interface PullProxyOptions {
  readonly find: FindTarget;
  readonly sessionOf: (id: string) => PullSession | undefined;
  readonly upstream?: UpstreamProxy | undefined;
}

/**
 * The HTTP proxy between pulls and registries. It checks every host before it connects. A forbidden host and one that does
 * not answer get the same response.
 */
export function pullProxy(options: PullProxyOptions): Server {
  const server = createServer((asked, answer) => void passOn(options, asked, answer));
  server.on(
    "connect",
    (asked: IncomingMessage, socket: Duplex, head: Buffer) => void open(options, asked, socket, head),
  );
  return server;
}

const unreachable = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/** Handles CONNECT, which clients use for HTTPS. */
async function open(options: PullProxyOptions, asked: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  socket.on("error", () => socket.destroy());
  let session: PullSession | undefined;
  try {
    session = sessionOf(options, asked);
    const remote = await reach(options, targetOf(`http://${asked.url}`, 443));
    session.follow(remote);
    remote.on("error", () => socket.destroy());
    remote.once("close", () => socket.destroy());
    socket.once("close", () => remote.destroy());
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    remote.write(head);
    remote.pipe(socket);
    socket.pipe(remote);
  } catch (error) {
    session?.noteFailure(error);
    socket.end(unreachable);
  }
}

/** Forwards a request without TLS. Only registries that the operator marked as insecure get these. */
async function passOn(options: PullProxyOptions, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  let session: PullSession | undefined;
  try {
    session = sessionOf(options, asked);
    const url = new URL(asked.url ?? "");
    const remote = await reach(options, targetOf(url.href, 80));
    session.follow(remote);
    const { "proxy-authorization": _own, "proxy-connection": _hop, ...headers } = asked.headers;
    const path = `${url.pathname}${url.search}`;
    const sent = request({ createConnection: () => remote, method: asked.method, path, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    sent.on("error", () => answer.destroy());
    answer.once("close", () => remote.destroy());
    asked.pipe(sent);
  } catch (error) {
    session?.noteFailure(error);
    answer.writeHead(502, { "content-length": 0 }).end();
  }
}

function sessionOf({ sessionOf: find }: PullProxyOptions, { headers }: IncomingMessage): PullSession {
  const login = Buffer.from((headers["proxy-authorization"] ?? "").replace(/^Basic /, ""), "base64").toString("utf8");
  const session = find(login.slice(0, login.indexOf(":")));
  if (session === undefined) throw new Error("unknown pull session");
  return session;
}

function targetOf(text: string, defaultPort: number): Target {
  const { hostname, port } = new URL(text);
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? defaultPort : Number(port) };
}

async function reach({ find, upstream }: PullProxyOptions, wanted: Target): ReturnType<typeof connectTo> {
  const proxy = upstream !== undefined && usesProxy(upstream, wanted.host) ? upstream : undefined;
  const target = await find(wanted);
  if (target === undefined) throw new Error("no such host among those that a pull may reach");
  // The upstream proxy may have rules by name, so it gets the requested name instead of the address.
  return connectTo(proxy === undefined ? target : wanted, proxy);
}
