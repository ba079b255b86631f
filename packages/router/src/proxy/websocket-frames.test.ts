import * as fc from "fast-check";
import { expect, test } from "vitest";
import { closeCodeIn, closeFrame, goingAwayFrame, WebSocketFrames } from "./websocket-frames.ts";

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

test.for<[string, number[], number | undefined]>([
  ["a code", [0x88, 0x82, 1, 2, 3, 4, 0x03 ^ 1, 0xe9 ^ 2], 1001],
  ["a code and a reason", [0x88, 0x83, 0, 0, 0, 0, 0x0f, 0xa1, 0x61], 4001],
  ["no code", [0x88, 0x80, 1, 2, 3, 4], 1005],
  ["a part of its bytes", [0x88, 0x82, 1, 2, 3, 4, 0], undefined],
  ["another frame after it", [0x88, 0x80, 1, 2, 3, 4, 0x81], undefined],
  ["no mask", [0x88, 0x02, 0x03, 0xe9], undefined],
  ["another opcode", [0x89, 0x80, 1, 2, 3, 4], undefined],
])("reads a client's close frame with %s", ([, bytes, expected]) => {
  expect(closeCodeIn(Buffer.from(bytes))).toBe(expected);
});

test("a close frame carries at most what a control frame may", () => {
  expect(closeFrame(1005)).toEqual(Buffer.from([0x88, 0]));
  expect(closeFrame(1012, "x".repeat(123))).toHaveLength(127);
  expect(() => closeFrame(1012, "x".repeat(124))).toThrow("the reason has 124 bytes");
});
