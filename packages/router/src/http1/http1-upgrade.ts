import type { ConnectionInfo } from "../listen/connection-info.ts";
import type { Backlog } from "../proxy/backlog.ts";
import { epochHeaders } from "../proxy/epoch-header.ts";
import { type ResponseOrigin, responseHead } from "../proxy/response-head.ts";
import { Cancellation, ClientDisconnected } from "../request/cancellation.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { EarlyBytes } from "../request/early-bytes.ts";
import type { ClientSocket } from "./client-socket.ts";
import { Http1ResponseWriter } from "./http1-response-writer.ts";
import type { RequestHeadText } from "./parse-head.ts";

export interface Http1UpgradeOptions {
  readonly socket: ClientSocket;
  readonly connectionInfo: ConnectionInfo;
  readonly backlog: Backlog;
  /** Bytes that arrived after the request's head. */
  readonly head: Buffer;
  /** The protocol the client asks for. Undefined for CONNECT. */
  readonly protocol: string | undefined;
}

/** An HTTP/1.1 upgrade or CONNECT request. If it is refused, the connection is closed after the response. */
export function http1Upgrade(
  { method, target, rawHeaders }: RequestHeadText,
  { socket, connectionInfo, backlog, head, protocol }: Http1UpgradeOptions,
): ClientRequest {
  const isConnect = protocol === undefined;
  const cancellation = new Cancellation();
  const onGone = (): void => cancellation.cancel(new ClientDisconnected());
  return {
    method,
    url: target,
    rawHeaders,
    connectionInfo,
    needsHost: !isConnect,
    body: undefined,
    response: new Http1ResponseWriter(socket, {
      minorVersion: 1,
      isLast: true,
      backlog,
      onEnd: () => socket.destroySoon(),
    }),
    cancellation,
    upgrade: {
      protocol,
      stream: socket,
      early: new EarlyBytes(socket, { head, mayHalfClose: isConnect, onGone }),
      accept: (headers, origin) => {
        socket.write(isConnect ? establishedHead(origin) : switchingHead(headers, origin), "latin1");
        return isConnect ? 200 : 101;
      },
    },
  };
}

const establishedHead = ({ epoch }: ResponseOrigin): string =>
  headText("HTTP/1.1 200 Connection established", epochHeaders(epoch));

const switchingHead = (rawHeaders: readonly string[], origin: ResponseOrigin): string =>
  headText("HTTP/1.1 101 Switching Protocols", responseHead(rawHeaders, { ...origin, isUpgrade: true }));

function headText(statusLine: string, headers: readonly string[]): string {
  let text = `${statusLine}\r\n`;
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}\r\n`;
}
