import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Http2ResponseWriter } from "../http2/http2-response-writer.ts";
import type { ConnectionInfo } from "../listen/connection-info.ts";
import type { ResponseOrigin } from "../proxy/response-head.ts";
import type { Cancellation } from "./cancellation.ts";
import type { EarlyBytes } from "./early-bytes.ts";
import type { RequestBody } from "./request-body.ts";
import type { ResponseWriter } from "./response-writer.ts";

/** One request as the listeners hand it over, in the same form for HTTP/1.1 and HTTP/2. */
export interface ClientRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values alternate, in the order in which they arrived. */
  readonly rawHeaders: readonly string[];
  readonly connectionInfo: ConnectionInfo;
  /** HTTP/1.1 requires a Host header (RFC 9112, 3.2). */
  readonly needsHost: boolean;
  readonly body: RequestBody | undefined;
  readonly response: ResponseWriter;
  /** Cancelled when the client disconnects. */
  readonly cancellation: Cancellation;
  /** Node's HTTP/2 objects. gRPC needs them for its trailers. */
  readonly http2?: { readonly request: IncomingMessage; readonly response: Http2ResponseWriter };
  /** Set when the client asks to use the connection for something other than HTTP. */
  readonly upgrade?: UpgradeRequest;
}

/** A request to switch protocols (for example to a WebSocket), or CONNECT. */
export interface UpgradeRequest {
  /** The protocol the client asks for. Undefined for CONNECT, which asks for a tunnel. */
  readonly protocol: string | undefined;
  /** The whole connection for HTTP/1.1, one stream of it for HTTP/2. */
  readonly stream: Duplex;
  /** Reads what the client sends before the upgrade is accepted. */
  readonly early: EarlyBytes;
  /**
   * Sends the response that accepts the upgrade and returns its status. `headers` are those of the sandbox's 101
   * response, names and values alternating. Throws before it sends anything if the sandbox's response is not valid.
   */
  accept(headers: readonly string[], origin: ResponseOrigin): number;
}
