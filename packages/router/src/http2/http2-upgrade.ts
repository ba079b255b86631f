import { createHash, randomBytes } from "node:crypto";
import type { Http2ServerRequest } from "node:http2";
import type { ConnectionInfo } from "../listen/connection-info.ts";
import type { Backlog } from "../proxy/backlog.ts";
import { epochHeaders } from "../proxy/epoch-header.ts";
import { forHttp2, type ResponseOrigin, responseHead } from "../proxy/response-head.ts";
import { Cancellation, ClientDisconnected } from "../request/cancellation.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { EarlyBytes } from "../request/early-bytes.ts";
import { RouterError } from "../router-error.ts";
import { Http2ResponseWriter } from "./http2-response-writer.ts";

export interface Http2UpgradeOptions {
  readonly request: Http2ServerRequest;
  readonly connectionInfo: ConnectionInfo;
  readonly backlog: Backlog;
}

/**
 * CONNECT over HTTP/2: a tunnel without `:protocol` (RFC 9113, 8.5), another protocol on this stream with it (RFC 8441).
 * An HTTP/2 client sends no WebSocket key, but the sandbox is asked over HTTP/1.1 and needs one. So the router generates
 * the key and verifies the sandbox's response to it.
 */
export function http2Upgrade({ request, connectionInfo, backlog }: Http2UpgradeOptions): ClientRequest {
  const { stream, headers, rawHeaders } = request;
  const protocol = ":protocol" in headers ? (headers[":protocol"] ?? "") : undefined;
  const isTunnel = protocol === undefined;
  const key = randomBytes(16).toString("base64");
  const cancellation = new Cancellation();
  const onGone = (): void => cancellation.cancel(new ClientDisconnected());
  return {
    method: "CONNECT",
    url: (isTunnel ? headers[":authority"] : headers[":path"]) ?? "",
    rawHeaders: isTunnel ? rawHeaders : [...without(rawHeaders, "sec-websocket-key"), "sec-websocket-key", key],
    connectionInfo,
    needsHost: false,
    body: undefined,
    response: new Http2ResponseWriter(stream, { backlog }),
    cancellation,
    upgrade: {
      protocol,
      stream,
      early: new EarlyBytes(stream, { head: Buffer.alloc(0), mayHalfClose: isTunnel, onGone }),
      accept: (received, origin) => {
        const own = isTunnel ? epochHeaders(origin.epoch) : acceptedHeaders(received, key, origin);
        stream.respond({ ":status": 200, ...forHttp2(own) });
        return 200;
      },
    },
  };
}

/** The headers of the sandbox's 101 response without those of HTTP/1.1. Throws if it does not match the router's key. */
function acceptedHeaders(rawHeaders: readonly string[], key: string, origin: ResponseOrigin): string[] {
  const headers = responseHead(rawHeaders, origin);
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === acceptHeader);
  if (at < 0 || headers[at + 1] !== acceptOf(key)) {
    throw new RouterError("BadUpstream", "The sandbox switched to a protocol that is not WebSocket.");
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
