import type { ServerHttp2Session } from "node:http2";
import type { Deadlines, Timed } from "../deadlines.ts";

export interface IdleLimits {
  readonly deadlines: Deadlines;
  /** Until the first request. */
  readonly headMs: number;
  /** Without a request. */
  readonly idleMs: number;
}

/** Closes a connection by HTTP/2 on which nothing is asked. Only requests count: a caller could send pings for ever. */
export function endWhenIdle(session: ServerHttp2Session, { deadlines, headMs, idleMs }: IdleLimits): void {
  let streams = 0;
  const idle: Timed & { deadlineMs: number } = {
    deadlineMs: deadlines.after(headMs),
    // Told again as long as it is not gone: who does not take the goodbye gets none.
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
