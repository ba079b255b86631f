import { getDefaultHighWaterMark } from "node:stream";
import { expect, test } from "vitest";
import { mostQueuedBytes } from "./answer.ts";

/**
 * Who is told to wait has so much in the socket or in text not yet given to it. One of the two is above the socket's mark
 * then, also when the other is gone a moment later, and a drain comes. With less, none may come, and an answer stands still.
 */
test("what makes a sender wait is enough to make the socket tell when it is drained", () => {
  expect(mostQueuedBytes).toBeGreaterThanOrEqual(2 * getDefaultHighWaterMark(false));
});
