import type { IncomingMessage } from "node:http";
import type { Answer } from "./answer.ts";
import type { Cancellation } from "./cancellation.ts";
import type { Channel } from "./channel.ts";
import type { Http2Answer } from "./http2-answer.ts";
import type { RequestBody } from "./request-body.ts";

/** One request, whatever protocol it came by. */
export interface Incoming {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly channel: Channel;
  /** RFC 9112, 3.2: from HTTP/1.1 on a request without a Host is none. */
  readonly needsHost: boolean;
  readonly body: RequestBody | undefined;
  readonly answer: Answer;
  /** Cancelled when the caller hangs up. */
  readonly cancellation: Cancellation;
  /** HTTP/2's own objects: gRPC needs its trailers. */
  readonly http2?: { readonly request: IncomingMessage; readonly answer: Http2Answer };
}
