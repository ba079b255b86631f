import type { Socket } from "node:net";
import type { Backlog } from "../proxy/backlog.ts";
import type { Channel } from "../proxy/channel.ts";
import { responseHead } from "../proxy/response-head.ts";
import type { Takeover } from "../proxy/takeover.ts";
import type { Route } from "../route/route.ts";
import { Http1Answer } from "./http1-answer.ts";
import type { RequestHeadText } from "./parse-head.ts";

export interface Http1Line {
  readonly socket: Socket;
  readonly channel: Channel;
  readonly backlog: Backlog;
  /** What came behind the request's head. */
  readonly early: Buffer;
  /** What the caller wants to speak instead; empty for CONNECT. */
  readonly upgrade: string;
}

/** A request by HTTP/1.1 that wants the connection for itself: it gets all of it, or one answer and the end. */
export function http1Takeover({ method, target, rawHeaders }: RequestHeadText, line: Http1Line): Takeover {
  const { socket, channel, backlog, early, upgrade } = line;
  const isConnect = method === "CONNECT";
  return {
    method,
    url: target,
    rawHeaders,
    channel,
    needsHost: !isConnect,
    upgrade,
    line: socket,
    early,
    answer: new Http1Answer(socket, { minorVersion: 1, isLast: true, backlog, onEnd: () => socket.destroySoon() }),
    accept: (headers, route) => {
      const head = isConnect ? "HTTP/1.1 200 Connection established\r\n\r\n" : switchingHead(headers, route);
      socket.write(head, "latin1");
      return isConnect ? 200 : 101;
    },
  };
}

function switchingHead(rawHeaders: readonly string[], route: Route): string {
  const headers = responseHead(rawHeaders, { route, isUpgrade: true });
  let text = "HTTP/1.1 101 Switching Protocols\r\n";
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}\r\n`;
}
