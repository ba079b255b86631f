import type { ServerHttp2Session } from "node:http2";
import type { Deadlines, Timed } from "../deadlines.ts";

export interface IdleLimits {
  readonly deadlines: Deadlines;
  /** Time allowed until the first request. */
  readonly headMs: number;
  /** Time allowed without a request afterwards. */
  readonly idleMs: number;
}

/** Closes idle HTTP/2 connections. Only requests count as use: a client could send pings for ever. */
export function endWhenIdle(session: ServerHttp2Session, { deadlines, headMs, idleMs }: IdleLimits): void {
  let streams = 0;
  const idle: Timed & { deadlineMs: number } = {
    deadlineMs: deadlines.after(headMs),
    // Called again if the client does not close the connection after GOAWAY.
    onDeadline: () => (session.closed ? session.destroy() : session.close()),
  };
  deadlines.watch(idle);
  session.on("close", () => deadlines.forget(idle));
  session.on("stream", (stream) => {
    streams += 1;
    idle.deadlineMs = Number.POSITIVE_INFINITY;
    stream.on("close", () => {
      streams -= 1;
      if (streams === 0) idle.deadlineMs = deadlines.after(idleMs);
    });
  });
}
