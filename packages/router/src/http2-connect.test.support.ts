import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  type IncomingHttpHeaders,
} from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { TestCluster } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

/** A session that the cluster ends, after the router has said that it supports extended CONNECT. */
export async function connectSession(
  cluster: TestCluster,
  to: Router,
  socket: Socket = connect(to.address?.port ?? 0, to.address?.host),
): Promise<ClientHttp2Session> {
  const made = connectHttp2(to.url, { createConnection: () => socket });
  made.on("error", () => undefined);
  cluster.use({ [Symbol.dispose]: () => made.destroy() });
  if (!made.remoteSettings.enableConnectProtocol) await once(made, "remoteSettings");
  return made;
}

export interface Opened {
  readonly stream: ClientHttp2Stream;
  readonly headers: IncomingHttpHeaders & { ":status"?: number };
}

/** Sends a CONNECT request and waits for the response. */
export async function openStream(on: ClientHttp2Session, headers: Record<string, string>): Promise<Opened> {
  const stream = on.request({ ":method": "CONNECT", ...headers }, { endStream: false });
  stream.on("error", () => undefined);
  const [received] = (await once(stream, "response")) as [Opened["headers"]];
  return { stream, headers: received };
}

/** Status and reason of an error response, and whether the stream has ended. */
export async function refusal({ stream, headers }: Opened): Promise<(number | string | undefined)[]> {
  const { reason } = JSON.parse(await text(stream)) as { reason?: string };
  if (!stream.closed) await once(stream, "close");
  return [headers[":status"], reason ?? String(headers["x-sandbox-reason"])];
}

/** A server in the sandbox that does not use HTTP. */
export async function listenInPod(
  cluster: TestCluster,
  host: string,
  onSocket: (socket: Socket) => void,
): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  cluster.use({ [Symbol.dispose]: () => void server.close() });
  server.listen({ host, port: 0 });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
