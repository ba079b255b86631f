import * as fc from "fast-check";
import { expect, test } from "vitest";
import { goingAwayFrame, WebSocketFrames } from "./websocket-frames.ts";

function frame(length: number, masked: boolean): Buffer {
  const mask = masked ? 0x80 : 0;
  const head =
    length < 126
      ? [0x82, mask | length]
      : length < 65_536
        ? [0x82, mask | 126, length >> 8, length & 255]
        : [0x82, mask | 127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255];
  return Buffer.concat([Buffer.from(head), Buffer.alloc((masked ? 4 : 0) + length, 0x81)]);
}

test("finds the ends of frames however the bytes are split", () => {
  const lengths = fc.array(fc.tuple(fc.constantFrom(0, 1, 125, 126, 127, 65_535, 65_536), fc.boolean()), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(lengths, fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1 }), (shapes, cuts) => {
      const frames = shapes.map(([length, masked]) => frame(length, masked));
      const ends = new Set(frames.map((_, index) => Buffer.concat(frames.slice(0, index + 1)).length).concat(0));
      const bytes = Buffer.concat(frames);
      const reader = new WebSocketFrames();
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const next = Math.min(bytes.length, at + (cuts[turn % cuts.length] ?? 1));
        reader.take(bytes.subarray(at, next));
        at = next;
        expect(reader.isBetween).toBe(ends.has(at));
      }
      expect(reader.isBetween).toBe(true);
    }),
  );
});

test("formats a close frame", () => {
  const reader = new WebSocketFrames();
  reader.take(goingAwayFrame());
  expect(reader.isBetween).toBe(true);
});
