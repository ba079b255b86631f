import type { ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";

/** Whether an HTTP/2 stream was reset by the other side. Node emits `end` in that case too. */
export function wasReset(stream: Duplex): boolean {
  return isHttp2(stream) && (stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR);
}

/** Whether a closed stream has transferred everything in both directions. */
export function isFinished(stream: Duplex): boolean {
  // An HTTP/2 stream closes with its last frame and never becomes `writableFinished`.
  const isSent = isHttp2(stream) ? stream.writableEnded : stream.writableFinished;
  return stream.readableEnded && isSent && !wasReset(stream);
}

/** Closes a stream with an error, so that the other side does not take what it received as complete. */
export function abortStream(stream: Duplex): void {
  if (stream.destroyed) return;
  // `close(code)` would send a regular end of stream first.
  if (isHttp2(stream)) stream.destroy(new Error("The stream was aborted"));
  else if (stream instanceof Socket && !(stream instanceof TLSSocket)) stream.resetAndDestroy();
  else stream.destroy();
}

/** Sends the last bytes, then closes the stream, whether or not the other side closes its own. */
export function endStream(stream: Duplex, last: Buffer): void {
  if (stream.destroyed || stream.writableEnded) return abortStream(stream);
  stream.end(last, () => setImmediate(() => (isHttp2(stream) ? stream.close() : stream.destroy())));
}

function isHttp2(stream: Duplex): stream is ServerHttp2Stream {
  return "rstCode" in stream;
}
