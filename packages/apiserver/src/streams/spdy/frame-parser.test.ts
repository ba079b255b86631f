import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameParser, type Malformed } from "./frame-parser.ts";
import { encodeFrame, type Frame } from "./frames.ts";

const streamId = fc.integer({ min: 1, max: 0x7f_ff_ff_ff });
const word = fc.integer({ min: 0, max: 0xff_ff_ff_ff });
const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
const frames: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({ type: fc.constant("data" as const), streamId, fin: fc.boolean(), bytes }),
  fc.record({
    type: fc.constantFrom("syn-stream" as const, "syn-reply" as const, "headers" as const),
    streamId,
    fin: fc.boolean(),
    headerBlock: bytes,
  }),
  fc.record({ type: fc.constant("rst-stream" as const), streamId, status: word }),
  fc.record({ type: fc.constant("ping" as const), id: word }),
  fc.record({ type: fc.constant("go-away" as const), lastStreamId: streamId, status: word }),
  fc.record({
    type: fc.constant("window-update" as const),
    streamId: fc.nat(0x7f_ff_ff_ff),
    delta: fc.nat(0x7f_ff_ff_ff),
  }),
  fc.record({
    type: fc.constant("settings" as const),
    values: fc.array(fc.tuple(fc.nat(0xff_ff_ff), word), { maxLength: 10 }).map((list) => new Map(list)),
  }),
);

function parse(stream: Buffer, cuts: readonly number[] = []): (Frame | Malformed)[] {
  const parser = new FrameParser();
  const at = [0, ...cuts.map((cut) => cut % (stream.length + 1)).toSorted((a, b) => a - b), stream.length];
  return at.slice(1).flatMap((end, index) => [...parser.push(stream.subarray(at[index], end))]);
}

/** Joins the pieces of data frames. */
function whole(parsed: readonly (Frame | Malformed)[]): (Frame | Malformed)[] {
  const joined: (Frame | Malformed)[] = [];
  for (const frame of parsed) {
    const last = joined.at(-1);
    if (frame.type === "data" && last?.type === "data" && last.streamId === frame.streamId && !last.fin) {
      joined[joined.length - 1] = { ...frame, bytes: Buffer.concat([last.bytes, frame.bytes]) };
    } else joined.push(frame);
  }
  return joined;
}

describe("FrameParser", () => {
  test("parses written frames, split at any position", () => {
    fc.assert(
      fc.property(fc.array(frames, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 20 }), (list, cuts) => {
        expect(whole(parse(Buffer.concat(list.map(encodeFrame)), cuts))).toEqual(whole(list));
      }),
    );
  });

  test("skips unknown control frames", () => {
    const unknown = Buffer.from([0x80, 3, 0, 99, 0, 0, 0, 3, 1, 2, 3]);
    const ping = encodeFrame({ type: "ping", id: 7 });
    expect(parse(Buffer.concat([unknown, ping]))).toEqual([{ type: "ping", id: 7 }]);
  });

  test.for([
    ["another version of the protocol", [0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1], "version 2 instead of 3"],
    ["data on stream 0", [0, 0, 0, 0, 0, 0, 0, 1, 1], "data on stream 0"],
    ["a control frame of 16 MiB", [0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff], "a control frame of 16777215 bytes"],
    ["a ping of two bytes", [0x80, 3, 0, 6, 0, 0, 0, 2, 0, 0], "a frame of type 6 cut short"],
    ["more settings than its length allows", [0x80, 3, 0, 4, 0, 0, 0, 4, 0, 0, 0, 9], "9 settings"],
  ] as const)("refuses %s and stops parsing", ([, head, why]) => {
    const ping = encodeFrame({ type: "ping", id: 7 });
    expect(parse(Buffer.concat([Buffer.from(head), ping]))).toEqual([{ type: "malformed", why }]);
  });

  test("emits data without waiting for the rest of its frame", () => {
    const parser = new FrameParser();
    const head = Buffer.from([0, 0, 0, 1, 1, 0xff, 0xff, 0xff]);
    expect([...parser.push(Buffer.concat([head, Buffer.from("abc")]))]).toEqual([
      { type: "data", streamId: 1, fin: false, bytes: Buffer.from("abc") },
    ]);
  });

  test("does not throw on random input", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), fc.array(fc.nat(), { maxLength: 10 }), (noise, cuts) => {
        const given = parse(Buffer.from(noise), cuts);
        const held = given.reduce((sum, frame) => sum + (frame.type === "data" ? frame.bytes.length : 0), 0);
        expect(held).toBeLessThanOrEqual(noise.length);
      }),
      { numRuns: 1000 },
    );
  });
});
