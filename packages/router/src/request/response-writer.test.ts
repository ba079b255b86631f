import { getDefaultHighWaterMark } from "node:stream";
import { expect, test } from "vitest";
import { maxQueuedBytes } from "./response-writer.ts";

/**
 * A paused sender has this many bytes queued, partly in the socket and partly as text that was not written yet. With at
 * least twice the socket's high-water mark, one of the two parts exceeds the mark, so a `drain` event follows. With less,
 * it might never come, and the response would stall.
 */
test("a sender is paused only when enough is queued for the socket to emit drain", () => {
  expect(maxQueuedBytes).toBeGreaterThanOrEqual(2 * getDefaultHighWaterMark(false));
});
