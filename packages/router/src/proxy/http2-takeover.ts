import { createHash, randomBytes } from "node:crypto";
import type { Http2ServerRequest } from "node:http2";
import type { Route } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import type { Backlog } from "./backlog.ts";
import type { Channel } from "./channel.ts";
import { Http2Answer } from "./http2-answer.ts";
import { forHttp2, responseHead } from "./response-head.ts";
import type { Takeover } from "./takeover.ts";

export interface Http2Connect {
  readonly request: Http2ServerRequest;
  readonly channel: Channel;
  readonly backlog: Backlog;
}

/**
 * CONNECT by HTTP/2: without `:protocol` a tunnel (RFC 9113, 8.5), with it another protocol on this one stream (RFC 8441).
 * A caller by HTTP/2 makes no WebSocket key, and a sandbox by HTTP/1.1 wants one: the router makes it, and checks what the
 * sandbox makes of it in the caller's place.
 */
export function http2Takeover({ request, channel, backlog }: Http2Connect): Takeover {
  const { stream, headers, rawHeaders } = request;
  const upgrade = headers[":protocol"];
  const isTunnel = typeof upgrade !== "string";
  const key = randomBytes(16).toString("base64");
  return {
    method: "CONNECT",
    url: (isTunnel ? headers[":authority"] : headers[":path"]) ?? "",
    rawHeaders: isTunnel ? rawHeaders : [...without(rawHeaders, "sec-websocket-key"), "sec-websocket-key", key],
    channel,
    needsHost: false,
    upgrade: isTunnel ? "" : upgrade,
    line: stream,
    early: Buffer.alloc(0),
    answer: new Http2Answer(stream, { backlog }),
    accept: (agreed, route) => {
      stream.respond({ ":status": 200, ...(isTunnel ? {} : forHttp2(agreement(agreed, key, route))) });
      return 200;
    },
  };
}

/** The sandbox's agreement without what only HTTP/1.1 needs. Throws when it does not answer the router's key. */
function agreement(rawHeaders: readonly string[], key: string, route: Route): string[] {
  const headers = responseHead(rawHeaders, { route });
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === acceptHeader);
  if (at < 0 || headers[at + 1] !== acceptOf(key)) {
    throw new RouterError("BadUpstream", "The sandbox switched to something that is no WebSocket.");
  }
  return without(headers, acceptHeader);
}

const acceptHeader = "sec-websocket-accept";

/** RFC 6455, 4.2.2. */
function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

function without(headers: readonly string[], dropped: string): string[] {
  return headers.filter((_, index) => (headers[index - (index % 2)] as string).toLowerCase() !== dropped);
}
