import type { ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";

/** Whether the other side broke off a line that has ended: of a stream of HTTP/2 an end is told in that case too. */
export function wasReset(line: Duplex): boolean {
  return isHttp2(line) && (line.aborted || line.rstCode !== constants.NGHTTP2_NO_ERROR);
}

/** Whether a line that is closed had brought everything it was to carry, both ways. */
export function isFinished(line: Duplex): boolean {
  // A stream of HTTP/2 is closed with its last frame, and does not tell that it is finished any more.
  const isSent = isHttp2(line) ? line.writableEnded : line.writableFinished;
  return line.readableEnded && isSent && !wasReset(line);
}

/** Ends a line at once, so that the other side cannot take what it has got for all there was. */
export function breakOff(line: Duplex): void {
  if (line.destroyed) return;
  // Closing a stream with an error code would end it first, and the end is what the other side must not see.
  if (isHttp2(line)) line.destroy(new Error("The line was broken off"));
  else if (line instanceof Socket && !(line instanceof TLSSocket)) line.resetAndDestroy();
  else line.destroy();
}

function isHttp2(line: Duplex): line is ServerHttp2Stream {
  return "rstCode" in line;
}
