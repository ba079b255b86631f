import type { Duplex } from "node:stream";
import type { Route } from "../route/route.ts";
import type { Answer } from "./answer.ts";
import type { Channel } from "./channel.ts";

/** A request that wants its line for itself, to speak another protocol or for bare bytes, and that line. */
export interface Takeover {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly channel: Channel;
  /** RFC 9112, 3.2: from HTTP/1.1 on a request without a Host is none. */
  readonly needsHost: boolean;
  /** What the caller wants to speak instead; empty for bare bytes. */
  readonly upgrade: string;
  /** A connection of its own, or one stream of a connection. Not read from any more. */
  readonly line: Duplex;
  /** What came behind the request's head. */
  readonly early: Buffer;
  /** For every answer but that the line is the caller's. */
  readonly answer: Answer;
  /**
   * Tells the caller that the line is its own; `headers` are those with which the sandbox agreed, names and values in turn.
   * Gives the status it told. Throws before anything was told when the sandbox's agreement is none.
   */
  accept(headers: readonly string[], route: Route): number;
}
